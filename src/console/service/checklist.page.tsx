/** Shows what a new service still needs, each step with its setting, command or page. */

import { Card } from '../../web/components/card.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { ActButton, type ConsoleView, consolePage, sectionActs } from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export type FirstStep = keyof ConsoleCatalogue['checklist']['steps'];
/** A step that this service can't take is left out. */
export type StepsDone = Readonly<Partial<Record<FirstStep, boolean>>>;

export const checklistActs = sectionActs('checklist', { 'mail-test': { act: 'mail test' } });

/** Settings, commands and pages: the same in every language. */
const ways: Readonly<Record<FirstStep, string>> = {
  publicUrl: 'BASE_URL, SECURE_URL',
  tls: 'portcullis doctor',
  mail: 'SMTP_URL, MAIL_FROM; portcullis doctor',
  list: 'portcullis source add',
  backup: 'BACKUP_FOLDER',
  passkey: '/account/security',
};

/** In the order in which they are taken. */
export const firstSteps: readonly FirstStep[] = [
  'list',
  'publicUrl',
  'tls',
  'mail',
  'backup',
  'passkey',
];

export interface ChecklistView extends ConsoleView {
  readonly steps: StepsDone;
  /** Milliseconds since 1970; 0: there is none; undefined: the server makes none. */
  readonly newestBackupAt: number | undefined;
  /** Milliseconds since 1970: the age of the tables of countries and networks; 0: unknown. */
  readonly geoMadeAt: number;
  readonly isGeoFresh: boolean;
  /** The mail address of the operator who asks: the test mail goes there. */
  readonly address: string;
}

export function checklistPage(frame: PageFrame, view: ChecklistView): string {
  const text = frameText(frame).console.checklist;
  const { newestBackupAt, now, address, geoMadeAt, isGeoFresh } = view;
  const format = formatFor(frame.language);
  const backup =
    newestBackupAt !== undefined &&
    (newestBackupAt === 0
      ? text.noBackup
      : text.newestBackup(format.ago(newestBackupAt, now), format.moment(newestBackupAt)));
  const steps = (Object.keys(ways) as FirstStep[]).filter((step) => step in view.steps);
  const state = (isDone: boolean | undefined) => (
    <Badge label={isDone ? text.isDone : text.isOpen} tone={isDone ? 'clean' : 'suspect'} />
  );
  const rows = steps.map((step) => {
    return [
      text.steps[step],
      state(view.steps[step]),
      <>
        <code class="breaks">{ways[step]}</code>
        {step === 'backup' && backup && <p class="card-note">{backup}</p>}
      </>,
    ];
  });
  rows.push([
    text.geo,
    state(isGeoFresh),
    <>
      <code class="breaks">GEO_COUNTRY_MMDB, GEO_ASN_MMDB</code>
      {geoMadeAt > 0 && (
        <p class="card-note">{text.geoOf(format.day(geoMadeAt), format.ago(geoMadeAt, now))}</p>
      )}
    </>,
  ]);
  const columns = [text.step, text.state, text.how].map((title) => ({ title }));
  return consolePage(frame, view, {
    section: 'checklist',
    lede: text.lede,
    body: (
      <>
        <Table caption={text.caption} columns={columns} rows={rows} stack />
        <Card title={text.testTitle}>
          <p class="card-note breaks">{text.testHint(address)}</p>
          <ActButton
            view={view}
            of={checklistActs}
            does="mail-test"
            about={{}}
            label={text.testMail}
          />
        </Card>
      </>
    ),
  });
}
