/** Shows what a new service still needs, each step with its setting, command or page. */

import { Card, CopyButton, Fold, Folds } from '../../web/components/card.tsx';
import { Button, Field, LinkButton } from '../../web/components/form.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import type { Translations } from '../../web/language.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  type ConsoleView,
  consolePage,
  consolePaths,
  sectionActs,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export type FirstStep = keyof ConsoleCatalogue['inbox']['steps'];
/** A step that this service can't take is left out. */
export type StepsDone = Readonly<Partial<Record<FirstStep, boolean>>>;

export const checklistActs = sectionActs('checklist', { 'mail-test': { act: 'mail test' } });

/** The service's own, which a command of a shell does not know by itself. */
const settingsFile = '/etc/portcullis/portcullis.env';
const doctorCommand = `portcullis --settings ${settingsFile} doctor`;

/**
 * Settings with an example value, and commands, the same in every language; a step that is taken on a page leads
 * there.
 */
const waysAt = ({
  port,
  host,
}: Pick<ChecklistView, 'port' | 'host'>): Readonly<
  Record<FirstStep, readonly string[] | { readonly page: string }>
> => ({
  list: { page: consolePaths.lists },
  publicUrl: [`BASE_URL=https://${host}`],
  tls: [
    `caddy reverse-proxy --from ${host} --to localhost:${port}`,
    'TRUSTED_PROXIES=127.0.0.1',
    doctorCommand,
  ],
  mail: [
    'SMTP_URL=smtps://user:password@mail.example.com',
    `MAIL_FROM=portcullis@${host}`,
    doctorCommand,
  ],
  backup: ['BACKUP_FOLDER=/var/backups/portcullis'],
  passkey: { page: '/account/security' },
});
/** The files that have settings, and the commands after a change; in the order of their words. */
const settingPlaces = [
  [settingsFile, 'sudo systemctl restart portcullis'],
  ['compose.yaml, environment:', 'docker compose up -d'],
  ['portcullis.env', 'portcullis --settings portcullis.env serve'],
] as const;
const geoSettings = [
  'GEO_COUNTRY_MMDB=/var/lib/portcullis/country.mmdb',
  'GEO_ASN_MMDB=/var/lib/portcullis/asn.mmdb',
];

/** A narrow screen breaks a value behind one of its signs, not within a word. */
function brokenBehindSigns(line: string): Html {
  return line.split(/(?<=[/=:@])(?=\w)|(?<=\.)(?=[a-z])/).map((part, at) => (
    <>
      {at > 0 && <wbr />}
      {part}
    </>
  ));
}

/** Lines that are copied one by one into the settings or a terminal. */
function codeLines(text: Translations, id: string, lines: readonly string[]): Html {
  return lines.map((line, at) => (
    <div class="code-line">
      <code class="breaks" id={`${id}-${at}`}>
        {brokenBehindSigns(line)}
      </code>
      <CopyButton id={`${id}-${at}`} text={text} />
    </div>
  ));
}

/** In the order in which they are taken. */
export const firstSteps: readonly FirstStep[] = [
  'list',
  'publicUrl',
  'tls',
  'mail',
  'backup',
  'passkey',
];

/** Leads to a step on the page of set-up, and opens it. */
export function stepPath(step: FirstStep): string {
  return `${consolePaths.checklist}?step=${step}#${step}`;
}

/** The steps have settings: where those go stands above them. */
function SettingsFold({ frame }: { readonly frame: PageFrame }): Html {
  const all = frameText(frame);
  const { settings } = all.console.checklist;
  const columns = settings.columns.map((title) => ({ title, plain: true }));
  const rows = settingPlaces.map(([file, command], at) => [
    settings.starters[at],
    <code class="breaks">{file}</code>,
    codeLines(all, `restart-${at}`, [command]),
  ]);
  return (
    <Folds>
      <Fold title={settings.title} icon="sliders" aside={settings.starters.join(' · ')}>
        <p class="card-note">{settings.about}</p>
        <Table caption={settings.title} columns={columns} rows={rows} stack />
      </Fold>
    </Folds>
  );
}

interface ChecklistView extends ConsoleView {
  readonly steps: StepsDone;
  /** The port on which this server listens. */
  readonly port: number;
  /** The name that visitors type, as far as it is known: else the one that was typed here, or an example. */
  readonly host: string;
  /** The name as it was typed, right or wrong; undefined: none is asked for. */
  readonly typedHost: string | undefined;
  /** The step that a link led to. */
  readonly asked: string | undefined;
  /** Milliseconds since 1970; 0: there is none; undefined: the server makes none. */
  readonly newestBackupAt: number | undefined;
  /** Milliseconds since 1970: the age of the tables of countries and networks; 0: unknown. */
  readonly geoMadeAt: number;
  readonly isGeoFresh: boolean;
  /** The mail address of the operator who asks: the test mail goes there. */
  readonly address: string;
}

function isHostWrong({ typedHost, host }: ChecklistView): boolean {
  return typedHost !== undefined && typedHost !== '' && typedHost.toLowerCase() !== host;
}

export function checklistPage(frame: PageFrame, view: ChecklistView): string {
  const all = frameText(frame);
  const text = all.console.checklist;
  const { newestBackupAt, now, address, geoMadeAt, isGeoFresh } = view;
  const format = formatFor(frame.language);
  const backup =
    newestBackupAt !== undefined &&
    (newestBackupAt === 0
      ? text.noBackup
      : text.newestBackup(format.ago(newestBackupAt, now), format.moment(newestBackupAt)));
  const { inbox } = all.console;
  const ways = waysAt(view);
  const known = firstSteps.filter((step) => step in view.steps);
  const backupNote = backup && <p class="card-note">{backup}</p>;
  const steps = known.map((step) => {
    const way = ways[step];
    const isDone = view.steps[step] === true;
    const words = inbox.steps[step];
    const said: Partial<Record<FirstStep, string>> = text.ways;
    const how = (
      <>
        <p class="card-note">{said[step] ?? words.why}</p>
        {'page' in way ? (
          <p>
            <LinkButton label={words.act} href={way.page} kind="secondary" />
          </p>
        ) : (
          <div>{codeLines(all, step, way)}</div>
        )}
        {step === 'publicUrl' && view.typedHost !== undefined && (
          <form class="form form-find" method="get" action={consolePaths.checklist}>
            <Field
              id="host"
              name="host"
              label={text.host}
              hint={text.hostHint}
              value={view.typedHost}
              error={isHostWrong(view) ? text.hostWrong : undefined}
              maxLength={253}
              autocomplete="off"
              mono
            />
            <p>
              <Button label={text.fillIn} kind="secondary" />
            </p>
          </form>
        )}
        {step === 'backup' && backupNote}
        {step === 'mail' && (
          <div class="test-mail">
            <ActButton
              view={view}
              of={checklistActs}
              does="mail-test"
              about={{}}
              label={text.testMail}
            />
            <p class="source-note breaks">{text.testHint(address)}</p>
          </div>
        )}
      </>
    );
    return { step, isDone, why: words.why, how };
  });
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone)?.step;
  const tested = view.refused?.does === 'mail-test' || view.did?.act === 'mail test';
  const open = known.find((step) => step === view.asked) ?? (tested ? 'mail' : next);
  const progress = inbox.progress(format.number(done), format.number(steps.length));
  return consolePage(frame, view, {
    section: 'checklist',
    lede: text.lede,
    body: (
      <>
        <p class="progress">
          <progress max={steps.length} value={done} aria-label={progress} />
          <span>{progress}</span>
        </p>
        <SettingsFold frame={frame} />
        <Folds>
          {steps.map(({ step, isDone, why, how }, at) => (
            <Fold
              id={step}
              title={`${format.number(at + 1)}. ${inbox.steps[step].name}`}
              open={step === open}
              aside={
                isDone || step === next ? (
                  <Badge
                    label={isDone ? text.isDone : text.isNext}
                    tone={isDone ? 'clean' : 'accent'}
                  />
                ) : (
                  <span class="fold-why">{why}</span>
                )
              }
            >
              {how}
            </Fold>
          ))}
        </Folds>
        {/* No step of set-up: it comes back every two months. The inbox counts the same steps. */}
        <Card title={text.geo} aside={!isGeoFresh && <Badge label={text.geoOld} tone="suspect" />}>
          {geoMadeAt > 0 && (
            <p class="card-note">{text.geoOf(format.day(geoMadeAt), format.ago(geoMadeAt, now))}</p>
          )}
          <p class="card-note">{text.geoWay}</p>
          <div>{codeLines(all, 'geo', geoSettings)}</div>
        </Card>
      </>
    ),
  });
}
