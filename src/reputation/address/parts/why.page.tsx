/** Why an address has its score, and what is known around it. */

import { Card } from '../../../web/components/card.tsx';
import { ShareList, StackedBar } from '../../../web/components/chart.tsx';
import { Link } from '../../../web/components/link.tsx';
import type { Html } from '../../../web/html.ts';
import { maliciousScore } from '../../check/score.ts';
import type { ListEvidence, ReportEvidence } from '../evidence/evidence.ts';
import { layersOf, type ScoreLayer } from '../evidence/score-layers.ts';
import { worstTable } from '../network.page.tsx';
import { addressGrid } from './grid.page.tsx';
import type { AddressScene } from './scene.page.tsx';

export function reason({ data, text }: AddressScene): Html {
  const { why } = data;
  if (why === undefined) return false;
  const words = text.ip.why;
  const said = 'ceiling' in why ? words[why.by](why.ceiling) : words[why.by];
  return (
    <p class="verdict-note">
      <strong>{words.title}.</strong> {said}
    </p>
  );
}

/** An entry other than the address itself leads to its page. */
function entryLink(entry: string, { data }: AddressScene): Html {
  return (
    entry !== data.address && (
      <>
        <Link class="mono" href={`/ip/${entry}`}>
          {entry}
        </Link>{' '}
        ·{' '}
      </>
    )
  );
}

/** Lists the parts of a score: standing and age of the reports, and what they give. */
function partNote({ parts }: ReportEvidence, { text, format }: AddressScene): Html {
  const words = text.ip.evidence;
  const said = parts.map(({ voice, age, reporters, score }) =>
    words.part(words.voices[voice](reporters, format.number(reporters)), words.ages[age], score),
  );
  return said.length > 0 && <> · {said.join(' · ')}</>;
}

function nameOf(of: ListEvidence | ReportEvidence, { text, format }: AddressScene): string {
  if ('kind' in of && of.kind === 'own') return text.ip.evidence.own;
  return 'name' in of ? of.name : text.ip.evidence.reports(of.reports, format.number(of.reports));
}

/** Returns the kind of a list, or the category of a manual entry. */
function kindNote({ kind, category }: ListEvidence, { text }: AddressScene): string | undefined {
  if (kind !== 'own') return text.ip.evidence.kinds[kind];
  return category === undefined ? undefined : text.categories[category - 1];
}

/** Shows the time from which and up to which a list names the entry. */
function listNote(said: ListEvidence, { data, text, format }: AddressScene): string {
  const words = text.ip.evidence;
  const loaded = format.ago(said.loadedAt, data.now);
  const end = said.endsAt === undefined ? undefined : format.day(said.endsAt);
  if (said.kind === 'own') return words.ownSince(loaded, end);
  return words.list(format.day(said.since), loaded, end ?? '');
}

/** The score in one bar: each list and the reports, by what they add to those below. */
function scoreBar(layers: readonly ScoreLayer[], scene: AddressScene): Html {
  const words = scene.text.ip.evidence;
  const segments = layers.map(({ of, from, to }, i) => ({
    from,
    to,
    tone: i,
    title: words.adds(nameOf(of, scene), from, to),
  }));
  const summary = segments.map(({ title }) => title).join('; ');
  return (
    segments.length > 0 && (
      <StackedBar segments={segments} summary={summary} mark={maliciousScore} />
    )
  );
}

/** Each list and what the reports amount to, by what they give by themselves: the highest counts. */
export function evidence(scene: AddressScene): Html {
  const { data, text, format } = scene;
  const words = text.ip.evidence;
  const { lists, reports, decidedBy, fallsBelowAt } = data.evidence;
  if (lists.length + reports.length === 0) return false;
  const layers = data.allowlisted ? [] : layersOf(data.evidence, data.why?.by !== 'knownGood');
  const toneOf = (of: ListEvidence | ReportEvidence) => {
    const tone = layers.findIndex((layer) => layer.of === of);
    return tone < 0 ? undefined : tone;
  };
  const isInherited = decidedBy !== undefined && decidedBy !== data.address;
  const said = [
    lists.length + reports.length > 1 && words.highest,
    fallsBelowAt !== undefined && words.fallsBelow(format.day(fallsBelowAt)),
  ].filter(Boolean);
  const foot = (isInherited || said.length > 0) && (
    <p class="card-note card-foot">
      {isInherited && (
        <>
          {words.decided}{' '}
          <Link class="mono" href={`/ip/${decidedBy}`}>
            {decidedBy}
          </Link>
          .{' '}
        </>
      )}
      {said.join(' ')}
    </p>
  );
  return (
    <Card title={words.title} icon="sliders">
      {scoreBar(layers, scene)}
      <ShareList
        rows={[
          ...lists.map((list) => ({
            name: (
              <>
                <bdi>{nameOf(list, scene)}</bdi>{' '}
                <span class="fact-note">{kindNote(list, scene)}</span>
              </>
            ),
            value: list.confidence ?? 0,
            formatted: list.confidence === undefined ? '–' : String(list.confidence),
            tone: toneOf(list),
            note: (
              <>
                {entryLink(list.entry, scene)}
                {listNote(list, scene)}
              </>
            ),
          })),
          ...reports.map((said) => ({
            name: nameOf(said, scene),
            value: said.score,
            formatted: String(said.score),
            tone: toneOf(said),
            note: (
              <>
                {entryLink(said.entry, scene)}
                {words.upTo(said.ceiling, format.ago(said.lastReportedAt, data.now))}
                {partNote(said, scene)}
              </>
            ),
          })),
        ]}
        whole={100}
      />
      {foot}
    </Card>
  );
}

/** The network around it: a map of an IPv4 /24, and its worst addresses. */
export function around({ data, text, format }: AddressScene): Html {
  if (data.around === undefined) return false;
  const { network, cells, worst } = data.around;
  const words = text.ip.network;
  return (
    <Card
      title={words.around(network)}
      icon="chart"
      aside={
        <Link class="card-aside" href={`/ip/${network}`}>
          {words.all}
        </Link>
      }
    >
      <div class="around">
        {cells !== undefined && <div>{addressGrid(cells, network, text, data.address)}</div>}
        <div>{worstTable(worst, words.worst, text, format)}</div>
      </div>
    </Card>
  );
}
