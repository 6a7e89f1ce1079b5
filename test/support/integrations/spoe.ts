/** HAProxy's side of SPOP, written from the protocol's own text: frames to send, and answers read. */

export type Value = null | boolean | number | string | { readonly address: readonly number[] };

function varint(value: number): number[] {
  if (value < 240) return [value];
  const bytes = [(value % 16) + 240];
  let rest = Math.floor((value - 240) / 16);
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor((rest - 128) / 128);
  }
  return [...bytes, rest];
}

const text = (value: string) => [...varint(value.length), ...Buffer.from(value, 'latin1')];

function typed(value: Value): number[] {
  if (value === null) return [0];
  if (typeof value === 'boolean') return [value ? 0x11 : 0x01];
  if (typeof value === 'number') return [3, ...varint(value)];
  if (typeof value === 'string') return [8, ...text(value)];
  return [value.address.length === 4 ? 6 : 7, ...value.address];
}

export function address(written: string): Value {
  if (!written.includes(':')) return { address: written.split('.').map(Number) };
  const [high = '', low = ''] = written.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const zeros = Array(8 - groups(high).length - groups(low).length).fill('0');
  const all = [...groups(high), ...zeros, ...groups(low)].map((group) =>
    Number.parseInt(group, 16),
  );
  return { address: all.flatMap((group) => [group >> 8, group & 255]) };
}

export type Pairs = Readonly<Record<string, Value>>;

const pairs = (all: Pairs) =>
  Object.entries(all).flatMap(([name, value]) => [...text(name), ...typed(value)]);

export function frame(
  type: number,
  payload: readonly number[],
  { flags = 1, stream = 0, id = 0 }: { flags?: number; stream?: number; id?: number } = {},
): Buffer {
  const ids = [...varint(stream), ...varint(id)];
  const bytes = Buffer.alloc(9 + ids.length + payload.length);
  bytes.writeUInt32BE(bytes.length - 4, 0);
  bytes.writeUInt8(type, 4);
  bytes.writeUInt32BE(flags, 5);
  bytes.set([...ids, ...payload], 9);
  return bytes;
}

export const helloPairs: Pairs = {
  'supported-versions': '2.0',
  'max-frame-size': 16_380,
  capabilities: 'pipelining,async',
};
export const hello = (more: Pairs = {}) => frame(1, pairs({ ...helloPairs, ...more }));
export const disconnect = () => frame(2, pairs({ 'status-code': 0, message: 'normal' }));

export const message = (name: string, args: Pairs) => [
  ...text(name),
  Object.keys(args).length,
  ...pairs(args),
];
export const ask = (args: Pairs, ids: { stream?: number; id?: number } = {}) =>
  frame(3, message('check-ip', args), { stream: 1, id: 1, ...ids });

export interface Said {
  readonly type: number;
  readonly stream: number;
  readonly id: number;
  /** Pairs of a HELLO or DISCONNECT, variables of an ACK. */
  readonly values: Readonly<Record<string, string | number>>;
}

/** All whole frames; throws where HAProxy would end the connection. */
export function readFrames(bytes: Buffer): Said[] {
  const frames: Said[] = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) break;
    frames.push(readFrame(bytes.subarray(at + 4, end)));
    at = end;
  }
  return frames;
}

function readFrame(bytes: Buffer): Said {
  let at = 5;
  const type = bytes[0]!;
  if (bytes.readUInt32BE(1) !== 1) throw new Error('the flags are not FIN alone');
  function number(): number {
    const first = bytes[at++]!;
    if (first < 240) return first;
    let value = first;
    for (let weight = 16; ; weight *= 128) {
      const byte = bytes[at++]!;
      value += byte * weight;
      if (byte < 128) return value;
    }
  }
  function string(): string {
    const length = number();
    at += length;
    return bytes.toString('latin1', at - length, at);
  }
  const stream = number();
  const id = number();
  const values: Record<string, string | number> = {};
  while (at < bytes.length) {
    // An action begins with set-var, three arguments, the transaction.
    if (type === 103 && bytes.readUIntBE(at, 3) !== 0x010302) throw new Error('not a set-var');
    if (type === 103) at += 3;
    const name = string();
    const kind = bytes[at++]!;
    values[name] = kind === 8 ? string() : number();
  }
  if (at !== bytes.length) throw new Error('a frame that ends early');
  return { type, stream, id, values };
}
