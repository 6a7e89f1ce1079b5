/**
 * The peers: servers of other owners whose word counts here. A table of them, and a screen for each with what
 * may be done.
 */

import { Card, CodeBlock, Fold, Folds, Notice } from '../../web/components/card.tsx';
import { Button, Field, Form, SelectField } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  ActForm,
  AddFold,
  type ConsoleView,
  consolePage,
  consolePaths,
  factsCard,
  isFormOpen,
  Listing,
  sectionActs,
  translateSentence,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export const peerActs = sectionActs('peers', {
  accept: { act: 'peer accept', about: ['peer', 'shown'], kind: 'primary' },
  drop: { act: 'peer drop', about: ['peer'] },
  pause: { act: 'peer pause', about: ['peer'] },
  resume: { act: 'peer resume', about: ['peer'] },
  remove: { act: 'peer remove', about: ['peer'], kind: 'danger' },
  set: {
    act: 'peer set',
    asks: [
      ['weight', 'owner'],
      ['budget', 'independent'],
    ],
    about: ['peer'],
  },
  rekey: { act: 'peer rekey', asks: ['key'], about: ['peer'], kind: 'secondary' },
  add: {
    act: 'peer add',
    about: ['url', 'key', 'weight', 'owner', 'own', 'budget'],
    fixed: { yes: 'true' },
    kind: 'primary',
  },
});
/** Reads a peer's rows and says what they would do. */
export const peerPreviewPath = '/admin/peers/preview';
/** The fields of that form, each with the most characters that are read of it. */
export const peerFields = { url: 300, key: 400, weight: 4, owner: 100, own: 4, budget: 9 } as const;
const weights = ['0.25', '0.5', '0.75', '1'] as const;

/** A peer. Times are milliseconds since 1970, 0 for never. */
export interface ShownPeer {
  readonly name: string;
  readonly url: string;
  /** The line of the key that is pinned. */
  readonly key: string;
  readonly state: keyof ConsoleCatalogue['peers']['states'];
  readonly held: 'none' | keyof ConsoleCatalogue['peers']['held'];
  /** False: nothing that it said does, as long as it stands so. */
  readonly counts: boolean;
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
  /** Rows that wait, and the first few of them. */
  readonly heldRows: number;
  readonly heldExamples: readonly string[];
  /** It names what is shown, so that nothing else is accepted; empty: nothing is shown. */
  readonly heldHash: string;
  /** It is not what was accepted before. */
  readonly hasChanged: boolean;
  readonly owner: string;
  /** The votes that the operator set; 0: by its weight. */
  readonly ownBudget: number;
  readonly isIndependent: boolean;
}

/** A peer beside what is here, in addresses. */
interface PeerWorth {
  readonly votes: number;
  readonly shared: number;
  readonly peerFirst: number;
  readonly oursFirst: number;
  readonly suspectWithout: number;
  readonly suspect: number;
  readonly maliciousWithout: number;
  readonly malicious: number;
}

/** The effect of a peer that is not added yet, or the reason why it can't be read. */
export interface PeerPreview {
  readonly typed: Readonly<Record<keyof typeof peerFields, string>>;
  readonly failure?: string | undefined;
  readonly field?: string | undefined;
  readonly found?: {
    readonly name: string;
    readonly rows: number;
    readonly least: number | null;
    readonly licence: string | null;
    /** The reason why nothing of it was read; null: it was. */
    readonly unread: string | null;
    readonly overlap: {
      readonly rows: number;
      readonly reported: number;
      readonly listed: number;
      readonly good: number;
      readonly goodExamples: readonly string[];
      readonly resolvers: number;
      readonly crowded: number;
    } | null;
    /** The reason why the rows were not compared. */
    readonly notCompared: string | null;
    readonly advisesAgree: boolean;
  };
}

export interface PeersView extends ConsoleView {
  readonly peers: readonly ShownPeer[];
  /** The name of the one that is asked for; empty: all. */
  readonly peer: string;
  /** The figures of that one; undefined where they can't be counted now. */
  readonly figures?: PeerWorth | undefined;
  readonly preview?: PeerPreview | undefined;
}

type Order = 'accept' | 'drop' | 'pause' | 'resume' | 'remove';

/** Returns what may be decided of the rows of a peer that wait. */
export function decisionsFor({ held }: Pick<ShownPeer, 'held'>): readonly ('accept' | 'drop')[] {
  if (held === 'none' || held === 'strange key') return [];
  // Nothing goes on behind another history.
  return held === 'two histories' ? ['accept'] : ['accept', 'drop'];
}

/** The rows that wait, as far as they are shown. */
export function heldText(frame: PageFrame, peer: ShownPeer): Html {
  const text = frameText(frame).console.peers;
  if (peer.heldHash === '') return null;
  if (peer.heldRows === 0) return peer.hasChanged ? text.otherChanged : null;
  return (
    <>
      {text.waiting(formatFor(frame.language).number(peer.heldRows))}{' '}
      <span class="mono breaks">{peer.heldExamples.join(', ')}</span>{' '}
      {peer.hasChanged && text.hasChanged}
    </>
  );
}

function stateOf(frame: PageFrame, { state, held, counts, failure }: ShownPeer): Html {
  const text = frameText(frame).console.peers;
  const isBad = state === 'held' || state === 'stale' || state === 'failing';
  return (
    <>
      <Badge
        label={text.states[state]}
        tone={isBad ? 'suspect' : state === 'active' ? 'accent' : 'neutral'}
      />
      {held !== 'none' && <p class="card-note">{text.held[held]}</p>}
      {!counts && <p class="card-note">{text.silent}</p>}
      {failure !== '' && <p class="card-note breaks">{translateSentence(frame, failure)}</p>}
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

export function adviceOf(text: ConsoleCatalogue['peers'], { held }: ShownPeer): string {
  if (held === 'strange key') return text.rekey;
  return held === 'two histories' ? text.decideOther : text.decide;
}

function onePeer(frame: PageFrame, view: PeersView, peer: ShownPeer): string {
  const all = frameText(frame).console;
  const text = all.peers;
  const { number, time } = formatFor(frame.language);
  const moment = (ms: number) => (ms === 0 ? all.never : time(ms));
  const act = (order: Order) => (
    <ActButton
      view={view}
      of={peerActs}
      does={order}
      about={{ peer: peer.name, shown: peer.heldHash }}
      label={text.orders[order]}
    />
  );
  return consolePage(frame, view, {
    section: 'peers',
    title: peer.name,
    lede: peer.counts ? text.peerLede : text.silent,
    body: (
      <>
        {peer.held !== 'none' && (
          <Notice tone="warning" title={text.held[peer.held]}>
            {adviceOf(text, peer)} {heldText(frame, peer)}
          </Notice>
        )}
        {decisionsFor(peer).length > 0 && <div class="acts">{decisionsFor(peer).map(act)}</div>}
        {factsCard(text.facts, [
          [text.state, stateOf(frame, peer)],
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
        <CodeBlock id="peer-key" title={text.key} code={peer.key} text={frameText(frame)} />
        {view.figures === undefined ? (
          <p class="card-note">{text.uncounted}</p>
        ) : (
          worthOf(frame, view.figures)
        )}
        <Folds>
          <Fold title={text.setTitle} icon="sliders" open={isFormOpen(view, 'set')}>
            <ActForm
              view={view}
              of={peerActs}
              does="set"
              text={text}
              about={{ peer: peer.name }}
              options={{
                weight: weightOptions(number),
                independent: (['no', 'yes'] as const).map((value) => ({
                  value,
                  label: text[value],
                })),
              }}
              values={{
                weight: String(peer.weight),
                owner: peer.owner,
                budget: String(peer.ownBudget),
                independent: peer.isIndependent ? 'yes' : 'no',
              }}
              label={text.set}
            />
          </Fold>
          <Fold
            title={text.rekeyTitle}
            icon="key"
            open={isFormOpen(view, 'rekey', peer.held === 'strange key')}
          >
            <ActForm
              view={view}
              of={peerActs}
              does="rekey"
              text={text}
              about={{ peer: peer.name }}
              label={text.rekeyAct}
            />
          </Fold>
        </Folds>
        <div class="acts">
          {act(peer.state === 'paused' ? 'resume' : 'pause')}
          {act('remove')}
        </div>
        <p>
          <Link href={consolePaths.peers}>{text.back}</Link>
        </p>
      </>
    ),
  });
}

function weightOptions(number: (value: number) => string) {
  return weights.map((value) => ({ value, label: number(Number(value)) }));
}

/** Shows what it says of this server's addresses, and what its word changes. */
function worthOf(frame: PageFrame, of: PeerWorth): Html {
  const text = frameText(frame).console.peers;
  const { number } = formatFor(frame.language);
  const row = (name: string, without: number, withIt: number) => [
    name,
    number(without),
    number(withIt),
  ];
  const columns = [
    text.scores,
    ...[text.without, text.withIt].map((title) => ({ title, numeric: true })),
  ];
  return (
    <>
      {factsCard(text.ofYours, [
        [text.shared, number(of.shared)],
        [text.peerFirst, number(of.peerFirst)],
        [text.oursFirst, number(of.oursFirst)],
        [text.voting, number(of.votes)],
      ])}
      <Card title={text.gives}>
        <Table
          caption={text.gives}
          columns={columns}
          rows={[
            row(text.suspect, of.suspectWithout, of.suspect),
            row(text.malicious, of.maliciousWithout, of.malicious),
          ]}
        />
        <p class="card-note">{text.givesNote}</p>
      </Card>
    </>
  );
}

function addCard(frame: PageFrame, view: PeersView): Html {
  const text = frameText(frame).console.peers;
  const { number } = formatFor(frame.language);
  const { preview, csrf } = view;
  const { typed } = preview ?? {};
  const errorOf = (field: string) => (preview?.field === field ? preview.failure : undefined);
  // Most take these as they are.
  const hasTerms =
    (typed !== undefined &&
      ((typed.weight || '0.5') !== '0.5' || `${typed.owner}${typed.budget}${typed.own}` !== '')) ||
    (['weight', 'owner', 'budget', 'own'] as const).some((name) => errorOf(name) !== undefined);
  const field = (name: 'url' | 'key' | 'owner' | 'budget', hint: string, isNeeded = false) => (
    <Field
      id={name}
      name={name}
      label={text[name]}
      hint={hint}
      value={typed?.[name]}
      error={errorOf(name)}
      maxLength={peerFields[name]}
      required={isNeeded}
      mono={isNeeded}
      autocomplete="off"
    />
  );
  return (
    <AddFold
      view={view}
      title={text.addTitle}
      isOpen={preview !== undefined || view.peers.length === 0}
    >
      <Form csrf={csrf} action={peerPreviewPath}>
        {field('url', text.urlHint, true)}
        {field('key', text.keyHint, true)}
        <Folds>
          <Fold
            title={text.setTitle}
            level={3}
            aside={text.defaultWeight(number(Number(typed?.weight || '0.5')))}
            open={hasTerms}
          >
            <div class="field-grid">
              <SelectField
                id="weight"
                name="weight"
                label={text.weight}
                hint={text.weightHint}
                value={typed?.weight || '0.5'}
                options={weightOptions(number)}
              />
              {field('owner', text.ownerHint)}
            </div>
            <div class="field-grid">
              {field('budget', text.budgetHint)}
              <SelectField
                id="own"
                name="own"
                label={text.ownQuestion}
                hint={text.ownHint}
                value={typed?.own}
                options={[
                  { value: '', label: text.no },
                  { value: 'true', label: text.yes },
                ]}
              />
            </div>
          </Fold>
        </Folds>
        <p>
          <Button
            label={text.preview}
            kind={preview?.found ? 'secondary' : 'primary'}
            icon="search"
          />
        </p>
      </Form>
      {preview?.found && foundPeer(frame, view, preview.typed, preview.found)}
    </AddFold>
  );
}

/** Shows what a peer would bring, with the button that adds it. */
function foundPeer(
  frame: PageFrame,
  view: PeersView,
  typed: PeerPreview['typed'],
  found: NonNullable<PeerPreview['found']>,
): Html {
  const text = frameText(frame).console.peers;
  const { number } = formatFor(frame.language);
  const { overlap, unread, notCompared } = found;
  return (
    <div class="preview">
      <p>
        <strong>
          {unread === null
            ? text.wouldBring(found.name, number(overlap?.rows ?? found.rows))
            : text.notRead(found.name)}
        </strong>{' '}
        {text.notAdded}
      </p>
      <ul class="preview-notes">
        {unread !== null && <li class="is-warning breaks">{translateSentence(frame, unread)}</li>}
        {unread === null && <li>{text.terms(number(found.least ?? 0), found.licence ?? '')}</li>}
        {overlap !== null && (
          <>
            <li>{text.known(number(overlap.reported), number(overlap.listed))}</li>
            <li class={overlap.good > 0 ? 'is-warning' : undefined}>
              {text.good(number(overlap.good))}{' '}
              <span class="mono breaks">{overlap.goodExamples.join(', ')}</span>
            </li>
            {overlap.resolvers > 0 && (
              <li class="is-warning">{text.resolvers(number(overlap.resolvers))}</li>
            )}
            {overlap.crowded > 0 && (
              <li class="is-warning">{text.crowded(number(overlap.crowded))}</li>
            )}
          </>
        )}
        {notCompared !== null && (
          <li class="is-warning">
            {text.notCompared} <span class="breaks">{translateSentence(frame, notCompared)}</span>
          </li>
        )}
        {typed.own === 'true' ? (
          <li class="is-warning">{text.ownSaid}</li>
        ) : (
          <li>{text.isHalved}</li>
        )}
        {found.advisesAgree && <li class="is-warning">{text.agree}</li>}
      </ul>
      <ActButton view={view} of={peerActs} does="add" about={typed} label={text.addAct} />
    </div>
  );
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
    stateOf(frame, peer),
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
        <Listing icon="shield" text={text} columns={columns} rows={rows} />
        {addCard(frame, view)}
      </>
    ),
  });
}
