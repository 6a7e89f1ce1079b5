/**
 * The JSON in which large operators publish their addresses, for known-good lists: a range is taken
 * only where the file says that it belongs to a service of the operator's own. Ranges of rented
 * machines, and those that overlap one, are left out and counted: who rents is not known to be good.
 *
 *   google      {"prefixes":[{"ipv4Prefix":"…"},{"ipv6Prefix":"…"}]}, of crawlers; also Bing's, Apple's
 *   amazon      {"prefixes":[{"ip_prefix":"…","service":"…"}],"ipv6_prefixes":[{"ipv6_prefix":"…",…}]}
 *   microsoft   {"values":[{"name":"…","properties":{"systemService":"…","addressPrefixes":["…"]}}]}
 *   cloudflare  {"result":{"ipv4_cidrs":["…"],"ipv6_cidrs":["…"]},"success":true}
 */

import { contains, type Prefix, parsePrefix } from '../../../ip/prefix.ts';
import { BrokenList, type ListFormat, type ServiceName, serviceNumber } from '../import/rows.ts';

/** The largest of these files has 4 MB. */
const textCharsMax = 1 << 25;
/** Crawlers have small networks; a wider one without a service is the operator's whole network. */
const unnamedLengthMin = { 4: 20, 6: 48 } as const;

interface Range {
  readonly text: unknown;
  /** The owner's service; `rented`: machines of customers; undefined: unknown. */
  readonly service: ServiceName | 'rented' | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const amazonServices: Readonly<Record<string, ServiceName | 'rented'>> = {
  CLOUDFRONT: 'content',
  CLOUDFRONT_ORIGIN_FACING: 'content',
  ROUTE53: 'names',
  ROUTE53_HEALTHCHECKS: 'names',
  EC2: 'rented',
};

const microsoftServices: Readonly<Record<string, ServiceName>> = {
  AzureFrontDoor: 'content',
  AzureUpdateDelivery: 'updates',
};

export const google = jsonRanges((file, asked) => {
  const prefixes = elementsOf(file.prefixes);
  const ranges = prefixes.map(({ ipv4Prefix, ipv6Prefix, service }): Range => {
    const isRented = typeof service === 'string';
    return { text: ipv4Prefix ?? ipv6Prefix, service: isRented ? 'rented' : (asked ?? 'crawler') };
  });
  if (ranges.some(({ text, service }) => service !== 'rented' && isWhole(text))) {
    throw new BrokenList(
      'names whole networks, with rented machines in them: take the file of one crawler',
    );
  }
  return ranges;
});

export const amazon = jsonRanges((file) =>
  [...elementsOf(file.prefixes), ...elementsOf(file.ipv6_prefixes)].map((row) => ({
    text: row.ip_prefix ?? row.ipv6_prefix,
    service: named(amazonServices, row.service),
  })),
);

/** All of Azure is one of its tags, and no tag tells rented machines apart: none is kept out by it. */
export const microsoft = jsonRanges((file) =>
  elementsOf(file.values).flatMap(({ properties }) => {
    const { systemService, addressPrefixes } = fieldsOf(properties);
    const service = named(microsoftServices, systemService);
    return listOf(addressPrefixes).map((text) => ({ text, service }));
  }),
);

export const cloudflare = jsonRanges((file, asked) => {
  const { ipv4_cidrs: four, ipv6_cidrs: six } = fieldsOf(file.result);
  const ranges = [...listOf(four), ...listOf(six)];
  return ranges.map((text) => ({ text, service: asked ?? 'content' }));
});

/** The text is read whole: which ranges are rented may stand at its end. */
function jsonRanges(
  read: (file: Fields, asked: ServiceName | undefined) => readonly Range[],
): ListFormat {
  return (sink, { service: asked }) => {
    let text = '';
    return {
      push(piece) {
        if (text.length + piece.length > textCharsMax) throw new BrokenList('is over 32 MiB');
        text += piece;
      },
      end() {
        const ranges = read(parsed(text), asked);
        const rented = ranges.filter(({ service }) => service === 'rented').flatMap(prefixIn);
        ranges.forEach((range, i) => {
          const { text: entry, service } = range;
          if (typeof entry !== 'string') sink.bad(i + 1, 'no range', JSON.stringify(entry) ?? '');
          else if (service === undefined || service === 'rented' || isAmong(rented, range)) {
            sink.stats.rented++;
          } else {
            const reason = sink.entry(entry, 0, serviceNumber(service));
            if (reason !== undefined) sink.bad(i + 1, reason, entry);
          }
        });
      },
    };
  };
}

function parsed(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    throw new BrokenList('is not JSON');
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function elementsOf(value: unknown): readonly Fields[] {
  return listOf(value).map(fieldsOf);
}

function named<T>(names: Readonly<Record<string, T>>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(names, name) ? names[name] : undefined;
}

function prefixIn({ text }: Range): Prefix[] {
  const prefix = typeof text === 'string' ? parsePrefix(text, 'mask') : undefined;
  return prefix?.ok ? [prefix.value] : [];
}

function isWhole(text: unknown): boolean {
  return prefixIn({ text, service: undefined }).some(
    ({ family, length }) => length < unnamedLengthMin[family],
  );
}

/** Two prefixes overlap where one holds the other's first address. */
function isAmong(rented: readonly Prefix[], range: Range): boolean {
  return prefixIn(range).some((own) =>
    rented.some(
      (other) => contains(other, own.family, own.words) || contains(own, other.family, other.words),
    ),
  );
}
