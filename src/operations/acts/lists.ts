/** Operations on third-party lists: load them, and have the server fetch them. */

import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import { dateText } from '../../core/names/date-text.ts';
import { dayMs, minuteMs } from '../../core/time.ts';
import { urlLabel } from '../../reputation/lists/import/download.ts';
import { goodFormats, seedFormats } from '../../reputation/lists/import/parse.ts';
import { serviceNames } from '../../reputation/lists/known-services.ts';
import { findList } from '../../reputation/lists/list-rows.ts';
import { loadList } from '../../reputation/lists/load-list.ts';
import {
  openDestinations,
  sourceFault,
} from '../../reputation/lists/subscriptions/destinations.ts';
import {
  orderSource,
  type SourceOrder,
  sourceState,
} from '../../reputation/lists/subscriptions/orders.ts';
import {
  addSubscription,
  changeSubscription,
  forgetSubscription,
  listSubscriptions,
  type Subscription,
} from '../../reputation/lists/subscriptions/subscriptions.ts';
import { defineOperation, type OperationCall } from '../operation.ts';
import { noInput, shortText, textOf, wholeNumber } from '../schema.ts';
import { runTask } from '../tasks.ts';
import { expect, type StoreTools, type Workspace } from '../workspace.ts';

const holdDays = wholeNumber(1, 3_650);
const confidence = wholeNumber(0, 100);
const sourceName = v.pipe(
  v.string(),
  v.regex(/^[\w.:@+-]{1,64}$/, 'It may hold letters, digits and . : @ + - _, at most 64.'),
);
const format = v.picklist([...new Set([...seedFormats, ...goodFormats]), 'anon'] as const);

const listInput = v.strictObject({
  /** Name under which a later load replaces this one. */
  source: sourceName,
  /** The name of the file or the host of the address, as messages show it. */
  label: shortText,
  format,
  confidence: v.optional(confidence, 0),
  service: v.optional(v.picklist(serviceNames)),
  hold: holdDays,
  documentation: v.optional(v.boolean(), false),
});

/** Loads the list whose bytes come along. It is read to its end before anything is written. */
async function load(
  w: Workspace,
  list: 'seed' | 'anon' | 'good',
  input: v.InferOutput<typeof listInput>,
  call: OperationCall,
) {
  const { source, label, service, documentation: allowDocumentation, hold } = input;
  const { clock } = w;
  const startMs = clock.monotonicMs();
  const how = { format: input.format, confidence: input.confidence, allowDocumentation };
  const { collected, stats } = await runTask('list', { ...how, service, label }, call);
  const total = collected.rows;
  call.progress({ verb: 'written', done: 0, total });
  const seq = expect(
    await loadList({
      ...w,
      list,
      source,
      holdDays: hold,
      batches: collected.batches,
      onRows(done) {
        // Nothing was taken back yet: who loads it again finds the former list, and what came of this one.
        call.signal.throwIfAborted();
        call.progress({ verb: 'written', done, total });
      },
    }),
  );
  const seconds = (clock.monotonicMs() - startMs) / 1_000;
  return {
    source,
    rows: total,
    duplicates: collected.duplicates,
    badLines: stats.badLines,
    notPublic: stats.notPublic,
    rented: stats.rented,
    normalised: stats.normalised,
    seconds: Math.round(seconds * 100) / 100,
    seq: String(seq),
    samples: stats.samples,
  };
}

const listAudit = {
  args: ['label'],
  options: ['format', 'confidence', 'hold', 'source', 'service', 'documentation'],
} as const;

export const seedList = defineOperation({
  name: 'seed',
  input: v.strictObject({
    ...listInput.entries,
    /** The list names services of which reports have no effect. */
    knownGood: v.optional(v.boolean(), false),
  }),
  audit: { args: ['label'], options: [...listAudit.options, 'knownGood'] },
  run: (w, input, call) => load(w, input.knownGood ? 'good' : 'seed', input, call),
});

export const loadAnonymous = defineOperation({
  name: 'anon',
  input: listInput,
  audit: listAudit,
  run: (w, input, call) => load(w, 'anon', input, call),
});

export const loadKnownGoodList = defineOperation({
  name: 'known-good',
  input: listInput,
  audit: listAudit,
  run: (w, input, call) => load(w, 'good', input, call),
});

const urlCharsMax = 2_000;
const everyMsMax = 30 * dayMs;

export const addSource = defineOperation({
  name: 'source add',
  input: v.strictObject({
    url: textOf(urlCharsMax),
    source: sourceName,
    format,
    confidence,
    hold: holdDays,
    everyMs: wholeNumber(minuteMs, everyMsMax),
    knownGood: v.optional(v.boolean(), false),
    service: v.optional(v.picklist(serviceNames)),
    documentation: v.optional(v.boolean(), false),
  }),
  audit: {
    args: ['url'],
    options: [
      'format',
      'confidence',
      'hold',
      'source',
      'documentation',
      'everyMs',
      'knownGood',
      'service',
    ],
  },
  async run(w, input) {
    if (!URL.canParse(input.url)) throw new OperatorError('the address of the list is not valid');
    const url = new URL(input.url);
    url.hash = '';
    if (input.hold * dayMs < 2 * input.everyMs) {
      throw new OperatorError('--hold must be twice as long as --every, or longer');
    }
    const destinations = openDestinations({ allowPrivate: w.config.sourceAllowPrivate });
    const fault = await sourceFault(url, destinations);
    if (fault !== undefined) throw new OperatorError(fault);
    const terms = {
      name: input.source,
      url: url.href,
      list: input.knownGood ? 'good' : input.format === 'anon' ? 'anon' : 'seed',
      format: input.format,
      confidence: input.confidence,
      holdDays: input.hold,
      allowDocumentation: input.documentation,
      service: input.service,
      everyMs: input.everyMs,
    } as const;
    const at = w.clock.now();
    return shownSource(expect(await addSubscription(w.store, terms, at)), at);
  },
});

export const listSources = defineOperation({
  name: 'source list',
  input: noInput,
  async run(w) {
    const now = w.clock.now();
    return (await listSubscriptions(w.store)).map((row) => shownSource(row, now));
  },
});

const oneSource = v.strictObject({ source: shortText });

function sourceOrder<const Order extends SourceOrder>(order: Order) {
  return defineOperation({
    name: `source ${order}` as const,
    input: oneSource,
    audit: { args: ['source'] },
    async run(w, { source }) {
      const at = w.clock.now();
      return shownSource(expect(await orderSource(w.store, source, order, at)), at);
    },
  });
}

export const refreshSource = sourceOrder('refresh');
export const acceptSource = sourceOrder('accept');
export const pauseSource = sourceOrder('pause');
export const resumeSource = sourceOrder('resume');

/**
 * The list's rows go by an empty run that holds for no day. Marked first, so that no download that
 * is under way brings them back, and so that a removal cut short can be asked for again.
 */
export const removeSource = defineOperation({
  name: 'source remove',
  input: oneSource,
  audit: { args: ['source'] },
  async run(w, { source }) {
    const { store } = w;
    const row = expect(await changeSubscription(store, source, () => ({ state: 'removing' })));
    await retractRows(w, row);
    expect(await forgetSubscription(store, source));
    return shownSource(row, w.clock.now());
  },
});

async function retractRows(tools: StoreTools, { name, list }: Subscription): Promise<void> {
  const ref = { list, source: name };
  if ((await findList(tools.store, ref)).row === undefined) return;
  expect(await loadList({ ...tools, ...ref, holdDays: 0, batches: [], onRows: () => {} }));
}

/** Never the query of its address, which may hold a key, nor what names its rows inside. */
function shownSource(row: Subscription, now: number) {
  const dateOf = (ms: number) => (ms === 0 ? null : dateText(ms));
  return {
    name: row.name,
    url: urlLabel(new URL(row.url)),
    list: row.list,
    format: row.format,
    confidence: row.confidence,
    holdDays: row.holdDays,
    everySeconds: row.everyMs / 1_000,
    state: sourceState(row),
    rows: row.rows,
    added: row.added,
    removed: row.removed,
    badLines: row.badLines,
    samples: row.samples,
    leftOut: row.leftOut,
    ageSeconds: row.freshAt === 0 ? null : Math.max(0, Math.round((now - row.freshAt) / 1_000)),
    loads: row.loads,
    unchanged: row.unchanged,
    holds: row.holds,
    failures: row.failures,
    failuresEver: row.failuresEver,
    failure: row.failure || null,
    heldRows: row.heldRows || null,
    addedAt: dateText(row.addedAt),
    triedAt: dateOf(row.triedAt),
    freshAt: dateOf(row.freshAt),
    dueAt: row.state === 'active' ? dateOf(Math.max(row.dueAt, now)) : null,
  };
}
