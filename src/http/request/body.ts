/**
 * Bodies to values: urlencoded forms, JSON objects, `multipart/form-data`. The body's size was bounded while it
 * was read; here its shape is bounded too.
 */

import { Busboy } from '@fastify/busboy';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { createScheduler, type SliceScheduler } from '../../core/scheduling.ts';
import { decodeUtf8, repairUtf8 } from '../../core/text.ts';
import { type Params, parseQuery, type QueryRules } from './query.ts';

type MediaType = 'form' | 'json' | 'multipart' | 'other' | 'none';

/** The kind of a `Content-Type` value; parameters don't matter here. */
export function mediaType(contentType: string | undefined): MediaType {
  if (contentType === undefined) return 'none';
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (essence === 'application/x-www-form-urlencoded') return 'form';
  if (essence === 'application/json' || essence.endsWith('+json')) return 'json';
  return essence === 'multipart/form-data' ? 'multipart' : 'other';
}

export function parseForm(body: Uint8Array, rules: QueryRules = {}): Result<Params> {
  // A mark in place of a bad byte is refused by the query's own rules, but for repaired names.
  const text = rules.repaired === undefined ? decodeUtf8(body) : repairUtf8(body);
  if (text === undefined) return fail('bad_request', 'The form is not valid UTF-8.');
  if (rules.charsMax !== undefined) return parseQuery(text, rules);
  return parseQuery(text, { ...rules, charsMax: Math.max(1, body.length) });
}

export type JsonObject = { readonly [name: string]: unknown };

const depthMax = 16;
/** Objects, arrays and plain values together. */
const valuesMax = 10_000;

/** The top must be an object; `__proto__` is refused at any depth, so copying is safe. */
export function parseJsonObject(body: Uint8Array): Result<JsonObject> {
  const text = decodeUtf8(body);
  if (text === undefined) return fail('bad_request', 'The JSON is not valid UTF-8.');
  // Measured first: the parser itself would go as deep as the text does.
  if (nestingOf(text) > depthMax) {
    return fail('bad_request', 'The JSON is nested too deeply.');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fail('bad_request', 'The JSON is malformed.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail('bad_request', 'The JSON must be an object.');
  }
  if (!isPlainTree(value, valuesMax)) {
    return fail('bad_request', 'The JSON holds too many values or a forbidden name.');
  }
  return ok(value as JsonObject);
}

/** Deepest nesting of brackets outside of strings. */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x7b || c === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x7d || c === 0x5d) depth--;
  }
  return deepest;
}

function isPlainTree(root: object, valuesMax: number): boolean {
  const open: object[] = [root];
  let left = valuesMax;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Object.hasOwn(node, '__proto__')) return false;
    const children = Object.values(node);
    left -= children.length;
    if (left < 0) return false;
    for (const child of children) if (typeof child === 'object' && child !== null) open.push(child);
  }
  return true;
}

// `multipart/form-data`, collected or as it arrives: fields as text, files in pieces. Parts, their
// heads and the fields are bounded; the body was bounded by its route.
// A form counts only when it is whole: a cut-off one fails, whatever the sink has seen of it.

/** Receives the parts of a form. A failure ends the reading. */
export interface FormSink {
  /** Undefined value: longer than `fieldBytesMax`. */
  field(name: string, value: string | undefined): Failure | undefined;
  /** Takes the bytes of a file part, or refuses it. */
  file(name: string, fileName: string | undefined): ((bytes: Uint8Array) => void) | Failure;
}

interface MultipartRules {
  readonly contentType: string | undefined;
  /** Returns whether a part without a file name counts as a file. */
  readonly isFile: (name: string) => boolean;
  readonly fileBytesMax: number;
  readonly partsMax: number;
}

export interface FormPart {
  readonly name: string;
  /** Undefined for a plain field. Never a path to use: a label that the client chose. */
  readonly fileName: string | undefined;
  readonly data: Uint8Array;
}

const partsMax = 64;
const fieldBytesMax = 1_024;
const headerPairsMax = 32;
const headerBytesMax = 4_096;
/**
 * Bytes that are parsed at a time. A body may arrive as one chunk; a piece holds up to four hundred parts or two
 * thousand rows.
 */
const pieceBytes = 4_096;

const malformed = fail('invalid_parameter', 'The multipart form is malformed.', 'body');

/** The parts of a form that was collected, its bytes untouched. */
export async function readParts(
  body: Uint8Array,
  contentType: string | undefined,
): Promise<Result<readonly FormPart[]>> {
  const parts: { name: string; fileName: string | undefined; pieces: Uint8Array[] }[] = [];
  const read = await readPartsInto(
    [body],
    { contentType, isFile: () => true, fileBytesMax: body.length + 1, partsMax },
    {
      field: () => undefined,
      file(name, fileName) {
        const pieces: Uint8Array[] = [];
        parts.push({ name, fileName, pieces });
        return (bytes) => pieces.push(bytes);
      },
    },
  );
  if (!read.ok) return read;
  return ok(parts.map(({ pieces, ...part }) => ({ ...part, data: Buffer.concat(pieces) })));
}

/**
 * @param scheduler bounds the work of one turn of the event loop, with that of others; else it begins at once
 * Rejects when the body does: the client has left.
 */
export async function readPartsInto(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  rules: MultipartRules,
  sink: FormSink,
  scheduler: SliceScheduler | undefined = undefined,
): Promise<Result<void>> {
  const { contentType } = rules;
  if (contentType === undefined || mediaType(contentType) !== 'multipart') {
    return fail('unsupported_media_type', 'Send a form of the type multipart/form-data.');
  }
  const form = openForm(contentType, rules, sink);
  if (form === undefined) return malformed;
  const slices = scheduler ?? createScheduler();
  await scheduler?.yield();
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      await form.write(chunk.subarray(at, at + pieceBytes));
      const refusal = form.refusal();
      if (refusal !== undefined) return refusal;
      if (slices.shouldYield()) await slices.yield();
    }
  }
  await form.end();
  return form.refusal() ?? ok(undefined);
}

/** Returns undefined when the content type has no boundary. */
function openForm(contentType: string, rules: MultipartRules, sink: FormSink) {
  const { isFile, fileBytesMax } = rules;
  let refusal: Failure | undefined;
  const refuse = (why: Failure): void => {
    refusal ??= why;
  };
  const tooMany = () => refuse(fail('invalid_parameter', 'The form has too many parts.', 'body'));
  let busboy: InstanceType<typeof Busboy>;
  try {
    busboy = new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (name, _type, fileName) => fileName !== undefined || isFile(name ?? ''),
      limits: {
        parts: rules.partsMax,
        fieldSize: fieldBytesMax,
        fileSize: fileBytesMax,
        headerPairs: headerPairsMax,
        headerSize: headerBytesMax,
      },
    });
  } catch {
    return undefined;
  }
  busboy.on('partsLimit', tooMany);
  busboy.on('field', (name: string | undefined, value, _nameCut, isCut) => {
    const why = name === undefined ? malformed : sink.field(name, isCut ? undefined : value);
    if (why !== undefined) refuse(why);
  });
  busboy.on('file', (name: string | undefined, stream, fileName) => {
    const take = refusal ?? (name === undefined ? malformed : sink.file(name, fileName));
    // A part that breaks off ends the whole form: that error is seen below.
    stream.on('error', () => undefined);
    stream.on('limit', () =>
      refuse(fail('body_too_large', `A file may have at most ${fileBytesMax} bytes.`)),
    );
    if (typeof take === 'function') stream.on('data', take);
    else {
      refuse(take);
      stream.resume();
    }
  });
  const over = new Promise<void>((resolve) => {
    busboy.on('finish', resolve);
    busboy.on('error', () => {
      refuse(malformed);
      resolve();
    });
  });
  return {
    refusal: () => refusal,
    /** Resolves when the piece was taken, or when nothing more will be. */
    async write(piece: Uint8Array): Promise<void> {
      const taken = new Promise<void>((resolve) => busboy.write(piece, () => resolve()));
      await Promise.race([taken, over]);
    },
    async end(): Promise<void> {
      busboy.end();
      await over;
    },
  };
}
