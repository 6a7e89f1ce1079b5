/** Sites that people sign in to, each with the button that blocks it, and a form for any other domain. */

import { Fold, Folds } from '../../web/components/card.tsx';
import { Badge } from '../../web/components/table.tsx';
import { type Html, hostName } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  ActForm,
  type ConsoleView,
  consolePage,
  FindForm,
  isFormOpen,
  Listing,
  NextPageLink,
  sectionActs,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export interface ShownSite {
  readonly domain: string;
  readonly visitors: number;
  readonly day: number;
  readonly week: number;
  /** Today (UTC), and in 7 and 30 days with today; undefined: not known here. */
  readonly signIns:
    | { readonly today: number; readonly week: number; readonly month: number }
    | undefined;
  readonly lastUsedAt: number | undefined;
  readonly blockedBy: string | undefined;
  /** The groups that it is open to alone; none: to all. */
  readonly groups: readonly string[];
}

/** The delivery of a site's notices at one of its origins. */
export interface ShownNotices {
  readonly origin: string;
  readonly waiting: number;
  /** Undefined: the site had no notice yet. */
  readonly delivery:
    | { readonly deliveredAt: number; readonly failures: number; readonly outcome: string }
    | undefined;
}

interface SiteScreenView extends ConsoleView {
  readonly part: string;
  readonly sites: readonly ShownSite[];
  readonly found: number;
  readonly countedAt: number;
  readonly isCut: boolean;
  readonly groups: readonly { readonly name: string; readonly members: number }[];
  readonly next: number | undefined;
  /** Holds those that fail first; of many the first ones. */
  readonly notices: readonly ShownNotices[];
}

export const siteActs = sectionActs('sites', {
  block: { act: 'site block', asks: ['domain'], kind: 'danger' },
  unblock: { act: 'site unblock', about: ['domain'] },
  access: {
    act: 'site set-access',
    asks: ['site', 'groups'],
    parameters: { site: 'domain' },
  },
});

export function sitesPage(frame: PageFrame, view: SiteScreenView): string {
  const all = frameText(frame).console;
  const text = all.sites;
  const format = formatFor(frame.language);
  const { part, next } = view;
  const counts = (each: readonly number[]) => each.map(format.number).join(' · ');
  const rows = view.sites.map((site) => [
    <span class="mono whole">{hostName(site.domain)}</span>,
    counts([site.visitors, site.day, site.week]),
    site.signIns === undefined
      ? '–'
      : counts([site.signIns.today, site.signIns.week, site.signIns.month]),
    site.lastUsedAt === undefined ? all.never : format.near(site.lastUsedAt, view.now),
    stateOf(frame, site),
    actOf(frame, site, view),
  ]);
  const columns = [
    text.site,
    ...[text.visitors, text.signIns].map((title) => ({
      title,
      numeric: true,
    })),
    text.last,
    { title: text.state, plain: true },
    text.actions,
  ];
  const page = new URLSearchParams({ part, page: String(next) });
  const more = next === undefined ? undefined : `/admin/sites?${page}`;
  return consolePage(frame, view, {
    section: 'sites',
    lede: text.lede,
    body: (
      <>
        <Folds>
          <Fold title={text.accessTitle} icon="person" open={isFormOpen(view, 'access')}>
            <ActForm
              view={view}
              of={siteActs}
              does="access"
              text={{ site: text.domain, groups: text.groups, groupsHint: text.groupsHint }}
              values={{ groups: 'all' }}
              lead={<p class="card-note">{text.accessHint}</p>}
              label={text.setAccess}
            >
              {view.groups.length > 0 && (
                <p class="field-hint">
                  {text.known}{' '}
                  {view.groups
                    .map(({ name, members }) => `${name} (${format.number(members)})`)
                    .join(', ')}
                </p>
              )}
            </ActForm>
          </Fold>
          <Fold title={text.blockTitle} icon="alert" open={isFormOpen(view, 'block')}>
            <ActForm view={view} of={siteActs} does="block" text={text} label={text.block} />
          </Fold>
        </Folds>
        <FindForm action="/admin/sites" label={text.part} submit={all.search} value={part} />
        <p class="card-note">
          {text.counted(format.number(view.found), format.moment(view.countedAt))}
          {view.isCut && text.cut}
        </p>
        <Listing
          icon="list"
          text={text}
          none={part === '' ? text.empty : undefined}
          columns={columns}
          rows={rows}
        />
        <NextPageLink href={more} label={all.more} />
        {view.notices.length > 0 && <NoticeList frame={frame} view={view} />}
      </>
    ),
  });
}

function NoticeList({
  frame,
  view,
}: {
  readonly frame: PageFrame;
  readonly view: SiteScreenView;
}): Html {
  const all = frameText(frame).console;
  const text = all.sites.notices;
  const format = formatFor(frame.language);
  const rows = view.notices.map(({ origin, waiting, delivery }) => [
    <span class="mono whole">{hostName(origin)}</span>,
    format.number(waiting),
    delivery === undefined || delivery.deliveredAt === 0
      ? all.never
      : format.near(delivery.deliveredAt, view.now),
    delivery === undefined ? text.untried : outcomeOf(delivery, text),
  ]);
  const columns = [text.address, { title: text.waiting, numeric: true }, text.last, text.outcome];
  return (
    <>
      <h2>{text.title}</h2>
      <p class="card-note">{text.lede}</p>
      <Listing icon="mail" text={{ caption: text.title }} columns={columns} rows={rows} />
    </>
  );
}

function outcomeOf(
  { outcome, failures }: NonNullable<ShownNotices['delivery']>,
  text: ConsoleCatalogue['sites']['notices'],
): Html {
  const said = text.outcomes[outcome as keyof typeof text.outcomes] ?? text.answered(outcome);
  if (failures === 0) return said;
  return <Badge label={text.failing(said, failures)} tone="accent" />;
}

function stateOf(frame: PageFrame, { domain, blockedBy, groups }: ShownSite): Html {
  const text = frameText(frame).console.sites;
  if (blockedBy === undefined) {
    const said = groups.length === 0 ? text.open : text.openTo(groups.join(', '));
    return <Badge label={said} tone={groups.length === 0 ? 'clean' : 'neutral'} />;
  }
  const label = blockedBy === domain ? text.blocked : text.blockedWith(blockedBy);
  return <Badge label={label} tone="accent" />;
}

/** A site that is blocked through its parent domain is unblocked there. */
function actOf(frame: PageFrame, { domain, blockedBy }: ShownSite, view: ConsoleView): Html {
  const text = frameText(frame).console.sites;
  if (blockedBy === undefined) {
    return (
      <ActButton view={view} of={siteActs} does="block" about={{ domain }} label={text.block} />
    );
  }
  if (blockedBy !== domain) return '–';
  return (
    <ActButton view={view} of={siteActs} does="unblock" about={{ domain }} label={text.unblock} />
  );
}
