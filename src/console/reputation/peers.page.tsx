/** The peers: servers of other owners whose word counts here. A table of them, and a screen for each with what may be done. */

import { Notice } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  type ConsoleView,
  consolePage,
  consolePaths,
  factsCard,
  Listing,
  sectionActs,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export const peerActs = sectionActs('peers', {
  accept: { act: 'peer accept', about: ['peer'], kind: 'primary' },
  drop: { act: 'peer drop', about: ['peer'] },
  pause: { act: 'peer pause', about: ['peer'] },
  resume: { act: 'peer resume', about: ['peer'] },
  remove: { act: 'peer remove', about: ['peer'], kind: 'danger' },
});

/** A peer. Times are milliseconds since 1970, 0 for never. */
export interface ShownPeer {
  readonly name: string;
  readonly url: string;
  readonly state: keyof ConsoleCatalogue['peers']['states'];
  readonly held: 'none' | keyof ConsoleCatalogue['peers']['held'];
  /** A quarter to 1. */
  readonly weight: number;
  /** It has half of its weight. */
  readonly isNew: boolean;
  readonly isOwn: boolean;
  /** The name of the peer that it repeats; empty: none. */
  readonly follows: string;
  readonly rows: number;
  readonly open: number;
  readonly budget: number;
  readonly refused: number;
  readonly confirmed: number;
  readonly knownGood: number;
  readonly freshAt: number;
  readonly headEndsAt: number;
  /** The reason why the last try failed; empty when it was good. */
  readonly failure: string;
}

export interface PeersView extends ConsoleView {
  readonly peers: readonly ShownPeer[];
  /** The name of the one that is asked for; empty: all. */
  readonly peer: string;
}

type Order = keyof typeof peerActs.acts;

function ordersFor({ state, held }: ShownPeer): readonly Order[] {
  const isDecided = held === 'none' || held === 'strange key';
  // Nothing goes on behind another history.
  const decides: readonly Order[] = held === 'two histories' ? ['accept'] : ['accept', 'drop'];
  return [...(isDecided ? [] : decides), state === 'paused' ? 'resume' : 'pause', 'remove'];
}

function stateOf(text: ConsoleCatalogue['peers'], { state, held, failure }: ShownPeer): Html {
  const isBad = state === 'held' || state === 'stale' || state === 'failing';
  return (
    <>
      <Badge
        label={text.states[state]}
        tone={isBad ? 'suspect' : state === 'active' ? 'accent' : 'neutral'}
      />
      {held !== 'none' && <p class="card-note">{text.held[held]}</p>}
      {failure !== '' && <p class="card-note breaks">{failure}</p>}
    </>
  );
}

function weightOf(
  text: ConsoleCatalogue['peers'],
  { weight, isNew, isOwn }: ShownPeer,
  number: (value: number) => string,
): string {
  if (isOwn) return text.own;
  return isNew ? text.halved(number(weight)) : number(weight);
}

function onePeer(frame: PageFrame, view: PeersView, peer: ShownPeer): string {
  const all = frameText(frame).console;
  const text = all.peers;
  const { number, time } = formatFor(frame.language);
  const moment = (ms: number) => (ms === 0 ? all.never : time(ms));
  return consolePage(frame, view, {
    section: 'peers',
    title: peer.name,
    lede: text.peerLede,
    body: (
      <>
        {peer.held !== 'none' && (
          <Notice tone="warning" title={text.held[peer.held]}>
            {peer.held === 'strange key' ? text.rekey : text.decide}
          </Notice>
        )}
        {factsCard(text.facts, [
          [text.state, stateOf(text, peer)],
          [text.address, <span class="mono breaks">{peer.url}</span>],
          [text.weight, weightOf(text, peer, number)],
          ...(peer.follows === '' ? [] : [[text.follows, peer.follows] as const]),
          [text.rows, number(peer.rows)],
          [
            text.votes,
            text.votesOf(number(Math.round(peer.open)), number(Math.floor(peer.budget))),
          ],
          [text.refused, number(peer.refused)],
          [text.confirmed, number(peer.confirmed)],
          [text.knownGood, number(peer.knownGood)],
          [text.fresh, moment(peer.freshAt)],
          [text.ends, moment(peer.headEndsAt)],
        ])}
        <div class="acts">
          {ordersFor(peer).map((order) => (
            <ActButton
              view={view}
              of={peerActs}
              does={order}
              about={{ peer: peer.name }}
              label={text.orders[order]}
            />
          ))}
        </div>
        <p>
          <Link href={consolePaths.peers}>{text.back}</Link>
        </p>
      </>
    ),
  });
}

export function peersPage(frame: PageFrame, view: PeersView): string {
  const asked = view.peers.find(({ name }) => name === view.peer);
  if (asked !== undefined) return onePeer(frame, view, asked);
  const all = frameText(frame).console;
  const text = all.peers;
  const { number, time } = formatFor(frame.language);
  const rows = view.peers.map((peer) => [
    <Link class="breaks" href={`${consolePaths.peers}?peer=${encodeURIComponent(peer.name)}`}>
      {peer.name}
    </Link>,
    stateOf(text, peer),
    weightOf(text, peer, number),
    number(peer.rows),
    number(peer.refused),
    peer.freshAt === 0 ? all.never : time(peer.freshAt),
  ]);
  const columns = [
    ...[text.peer, text.state, text.weight],
    ...[text.rows, text.refused].map((title) => ({ title, numeric: true })),
    text.fresh,
  ];
  return consolePage(frame, view, {
    section: 'peers',
    lede: text.lede,
    body: (
      <>
        <Listing
          icon="shield"
          none={text.none}
          caption={text.caption}
          columns={columns}
          rows={rows}
        />
        <p class="card-note">{text.add}</p>
      </>
    ),
  });
}
