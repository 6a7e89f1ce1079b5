/**
 * The page of one address: its score and where it comes from, who runs it, what was reported and
 * when. Everything a reporter or a registry wrote is text here; comments are masked before.
 */

import { scoreBand } from '../../core/score-band.ts';
import { Badge } from '../../web/components/badge.tsx';
import { LinkButton } from '../../web/components/button.tsx';
import { CodeBlock } from '../../web/components/code-block.tsx';
import { Gauge, ScoreScale } from '../../web/components/gauge.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { EmptyState } from '../../web/components/notice.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, machineTime } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { type Catalogue, frameText } from '../words.ts';
import { categories, comments, hasReports, history, scoreHistory } from './parts/reported.page.tsx';
import { type AddressScene, breakableAddress, type IpPageData } from './parts/scene.page.tsx';
import { around, evidence, reason } from './parts/why.page.tsx';

/**
 * Search engines keep out of addresses that nobody reported, also in a range that was: a /64 would
 * be 2^64 pages. Also decides `X-Robots-Tag`.
 */
export function ipPageIsIndexable(data: IpPageData): boolean {
  return data.reports > 0 && hasReports(data);
}

function moment({ data, text, format }: AddressScene, at: number | undefined): Html {
  if (at === undefined) return text.ip.facts.none;
  return (
    <>
      <time datetime={machineTime(at)} title={format.moment(at)}>
        {format.day(at)}
      </time>
      <span class="fact-note">{format.ago(at, data.now)}</span>
    </>
  );
}

function fact(label: string, value: Html, className?: string): Html {
  return (
    <div class={className}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Which part of the number is whose. */
function parts({ data, text, format }: AddressScene): Html {
  const words = text.ip.facts;
  const { reports, listReports, distinctReporters } = data;
  const note = (said: string) => <span class="fact-note fact-below">{said}</span>;
  const byWhom = words.reporters(distinctReporters, format.number(distinctReporters));
  if (listReports === 0) return reports > 0 && note(byWhom);
  return (
    <>
      {note(words.ofLists(format.number(listReports)))}
      {reports > 0 && note(`${format.number(reports)} ${byWhom}`)}
    </>
  );
}

function facts(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.facts;
  const country = format.country(data.countryCode);
  return (
    <dl class="facts">
      {fact(
        words.provider,
        data.provider === '' ? (
          words.unknown
        ) : (
          <Link href={`/as/${data.address}`}>
            <bdi>{data.provider}</bdi>
          </Link>
        ),
        'is-wide',
      )}
      {fact(
        words.country,
        country === undefined ? (
          words.unknown
        ) : (
          <>
            {country} <span class="fact-note mono">{data.countryCode}</span>
          </>
        ),
      )}
      {fact(
        words.reports,
        <>
          {format.number(data.reports + data.listReports)} {parts(scene)}
        </>,
      )}
      {fact(words.first, moment(scene, data.firstReportedAt))}
      {fact(words.last, moment(scene, data.lastReportedAt))}
      {data.listedAt !== undefined && fact(words.listed, moment(scene, data.listedAt))}
      {data.scorePrefix !== undefined &&
        fact(
          words.entry,
          <>
            <span class="mono">{breakableAddress(data.scorePrefix)}</span>{' '}
            <span class="fact-note">{text.ip.entryHint}</span>
          </>,
          'is-wide',
        )}
    </dl>
  );
}

function canReport({ reportHref, reportUrl }: IpPageData): boolean {
  return reportHref !== undefined || reportUrl !== undefined;
}

/** Never seen is not clean: nothing speaks for it either. */
function isUnseen({ allowlisted, observed }: IpPageData): boolean {
  return !allowlisted && !observed;
}

function isKnownGood({ why }: IpPageData): boolean {
  return why?.by === 'knownGood';
}

/** Shows that the address is known good, and the services that the lists give its range. */
function knownGoodBadges({ data, text }: AddressScene): Html {
  if (!isKnownGood(data)) return false;
  const services = new Set(data.evidence.lists.flatMap(({ service }) => service ?? []));
  const labels = [text.ip.badges.knownGood, ...[...services].map((name) => text.ip.services[name])];
  return labels.map((label) => <Badge label={label} tone="clean" icon="shield" />);
}

function verdictLine(data: IpPageData, text: Catalogue): string {
  if (data.allowlisted) return text.ip.verdicts.allowlisted;
  if (isKnownGood(data) && data.score === 0) return text.ip.verdicts.knownGood;
  return isUnseen(data) ? text.ip.verdicts.unobserved : text.ip.verdicts[scoreBand(data.score)];
}

function verdict(scene: AddressScene): Html {
  const { data, text } = scene;
  const band = scoreBand(data.score);
  return (
    <section class={`verdict band-${isUnseen(data) ? 'none' : band}`}>
      <Gauge
        id="score-gate"
        score={data.score}
        text={text}
        unknown={isUnseen(data) ? text.ip.notObserved : undefined}
      />
      <div class="verdict-text">
        <h1>
          <span class="eyebrow">{text.ip.heading}</span>{' '}
          <span class="address mono" id="address">
            {breakableAddress(data.address)}
          </span>
          <button
            class="code-copy"
            type="button"
            hidden
            data-copy="address"
            data-done={text.code.copied}
          >
            <Icon name="copy" />
            <span aria-live="polite">{text.code.copy}</span>
          </button>
        </h1>
        <p class="verdict-line">{verdictLine(data, text)}</p>
        {data.special !== undefined && (
          <p class="verdict-note">{text.ip.special(data.special.name, data.special.rfc)}</p>
        )}
        {data.score > 0 && data.reports === 0 && (
          <p class="verdict-note">
            {
              text.ip[
                data.evidence.lists[0]?.kind === 'own' ? 'noReportsButOwn' : 'noReportsButScore'
              ]
            }
          </p>
        )}
        {(data.allowlisted ||
          data.anonymousExit ||
          isKnownGood(data) ||
          data.knownAs !== undefined) && (
          <p class="badges">
            {data.allowlisted && (
              <Badge label={text.ip.badges.allowlisted} tone="clean" icon="shield" />
            )}
            {knownGoodBadges(scene)}
            {data.knownAs !== undefined && (
              <Badge
                label={`${text.ip.knownAs[data.knownAs.kind]} ${data.knownAs.name}`}
                tone="accent"
                icon="tag"
                title={text.ip.knownAsHint}
              />
            )}
            {data.anonymousExit && (
              <Badge
                label={text.ip.badges.anonymousExit}
                tone="accent"
                icon="mask"
                title={text.ip.anonymousExitHint}
              />
            )}
          </p>
        )}
        {reason(scene)}
        {facts(scene)}
        {canReport(data) && (
          <p class="verdict-report">
            <Link href={data.reportHref ?? '#report'} rel="nofollow">
              <Icon name="flag" />
              <span>{text.ip.reportLink}</span>
            </Link>
          </p>
        )}
        {data.removalHref !== undefined && (
          <p class="verdict-report">
            <Link href={data.removalHref} rel="nofollow">
              <Icon name="shield" />
              <span>{text.requests.removal.link}</span>
            </Link>
          </p>
        )}
      </div>
    </section>
  );
}

/** An address holds nothing that a shell would read as more than text. */
function reportCommand(url: string, address: string): string {
  return `curl ${url} \\\n  -H "Key: YOUR_KEY" \\\n  -d ip=${address} -d categories=18,22 \\\n  --data-urlencode "comment=…"`;
}

function reportCall({ reportHref, reportUrl, address }: IpPageData, text: Catalogue): Html {
  return (
    <div class="report-call" id="report">
      <div>
        <h3>{text.ip.reportTitle}</h3>
        <p>{text.ip.reportText}</p>
      </div>
      {reportHref !== undefined && (
        <LinkButton label={text.links.report} href={reportHref} icon="flag" />
      )}
      {reportUrl !== undefined && (
        <CodeBlock
          id="report-line"
          title="curl"
          code={reportCommand(reportUrl, address)}
          text={text}
        />
      )}
    </div>
  );
}

function closing({ data, text }: AddressScene): Html {
  return (
    <>
      <section class="card meaning">
        <h2 class="card-title">{text.ip.meaningTitle}</h2>
        <p>{text.ip.meaningText}</p>
        <ScoreScale text={text} score={isUnseen(data) ? undefined : data.score} />
        {canReport(data) && reportCall(data, text)}
      </section>
      {data.attribution !== undefined && (
        <p class="attribution">
          {text.ip.attribution}{' '}
          <Link href={data.attribution.href} rel="noopener">
            {data.attribution.name}
          </Link>
          {' · '}
          {data.attribution.licence}
        </p>
      )}
    </>
  );
}

export function ipPage(frame: PageFrame, data: IpPageData): string {
  const text = frameText(frame);
  const scene: AddressScene = { data, text, format: formatFor(frame.language) };
  const word = isUnseen(data) ? text.ip.notObserved : text.score.words[scoreBand(data.score)];
  return renderDocument(frame, {
    title: text.ip.title(data.address),
    description: text.ip.description(data.address, data.score, word),
    noindex: !ipPageIsIndexable(data),
    headerLookup: true,
    className: 'page-ip',
    body: (
      <div class="wrap stack">
        {verdict(scene)}
        {evidence(scene)}
        {hasReports(data) ? (
          <>
            <div class="columns">
              {history(scene)}
              {categories(scene)}
            </div>
            {scoreHistory(scene)}
            {comments(scene)}
          </>
        ) : (
          <>
            {scoreHistory(scene)}
            <section class="card">
              <EmptyState
                icon="flag"
                text={data.reports === 0 ? text.ip.nothingReported : text.ip.reportedInRange}
              />
            </section>
          </>
        )}
        {around(scene)}
        {closing(scene)}
      </div>
    ),
  });
}
