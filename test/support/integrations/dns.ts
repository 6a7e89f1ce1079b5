/** DNS messages by another's codec (dns-packet), as the tests write and read them. */

import packet from 'dns-packet';

export interface Message {
  readonly id?: number;
  readonly name?: string;
  readonly type?: string;
  readonly flags?: number;
  readonly opcode?: number;
  readonly edns?: { readonly version?: number; readonly dnssecOk?: boolean };
}

interface DnsRecord {
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly data: unknown;
  readonly udpPayloadSize?: number;
  readonly flag_do?: boolean;
  readonly extendedRcode?: number;
}

interface DnsAnswer {
  readonly id: number;
  readonly rcode: string;
  readonly flag_tc: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** RD unless `flags` says otherwise. */
export function encode(message: Message): Buffer {
  const { id = 1, name = '.', type = 'A', flags = 0x0100, opcode = 0, edns } = message;
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 4_096,
    extendedRcode: 0,
    ednsVersion: edns?.version ?? 0,
    flags: edns?.dnssecOk ? 0x8000 : 0,
    options: [],
  };
  const bytes = packet.encode({
    type: 'query',
    id,
    flags: flags | (opcode << 11),
    questions: [{ name, type, class: 'IN' }],
    ...(edns === undefined ? {} : { additionals: [opt] }),
  } as never);
  return bytes;
}

export function decode(bytes: Uint8Array): DnsAnswer {
  return packet.decode(Buffer.from(bytes)) as never;
}
