/**
 * A client is the domain of a site: a registrable domain or a sub-domain of one, as lower-case
 * LDH labels, or a name of the intranet that the operator lists. Nobody
 * registers clients, so this text is all that identifies one: whatever two programs could read as
 * two hosts is refused.
 */

import { domainToASCII } from 'node:url';
import { parse } from 'tldts';
import { fail, ok, type Result } from '../../core/result.ts';

/** The entry that stands for every name without a dot: such names are right under the root. */
const rootSuffix = '.';
/** The limit of RFC 1035, 2.3.4, as text without the final dot. */
const hostCharsMax = 253;
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostPattern = new RegExp(`^${label}(?:\\.${label})*$`);

/** A suffix of the public list that is for private networks alone (RFC 8375). */
const privateArpa = 'home.arpa';
/** Names that lead to the visitor's own machine. */
const ownMachine: ReadonlySet<string> = new Set([
  'localhost',
  'localdomain',
  'ip6-localhost',
  'ip6-loopback',
  'loopback',
  'broadcasthost',
]);

/** Returns whether a text is lower-case LDH labels, valid A-labels where one begins with `xn--`, and no address. */
function isName(text: string): boolean {
  if (text.length > hostCharsMax || !hostPattern.test(text)) return false;
  // The same reading as a browser's: refuses bad punycode and numbers that are really addresses.
  return domainToASCII(text) === text;
}

/** Returns undefined for a public suffix, an address, and what lies under no known top-level domain. */
function publicRegistrable(host: string): string | undefined {
  if (isPrivateArpa(host)) return undefined;
  const parts = parse(host, { allowPrivateDomains: true });
  if (parts.isIp === true || !isKnown(parts)) return undefined;
  return parts.domain ?? undefined;
}

/** Returns why a suffix can't be listed, in words that follow its text; undefined: it can. */
export function suffixFault(suffix: string): string | undefined {
  if (suffix === rootSuffix) return undefined;
  if (!isName(`x.${suffix}`)) return 'not a name such as internal or home.arpa';
  if (suffix.split('.').some((part) => ownMachine.has(part))) {
    return "a name of every visitor's own machine";
  }
  // Looked at two labels below: the list has rules (*.ck) that say nothing of the name itself.
  const below = parse(`a.b.${suffix}`, { allowPrivateDomains: true });
  return isKnown(below) && !isPrivateArpa(suffix)
    ? 'a public suffix or a name under one'
    : undefined;
}

/**
 * Rules the names of an intranet that the operator lets be clients (CLIENT_SUFFIXES). Nobody registers such
 * names, so they mean something in one network alone, and are refused unless they are listed. A
 * name under a listed suffix counts as registered with one label more; a name without a dot stands
 * for that host and no other. What the public suffix list knows is never ruled here.
 * @throws TypeError for a suffix that has a fault: the settings were read without checking it
 */
export function createClientSuffixes(suffixes: readonly string[]) {
  const listed = new Set(suffixes);
  for (const suffix of listed) {
    const fault = suffixFault(suffix);
    if (fault !== undefined) throw new TypeError(`client suffix ${suffix}: ${fault}`);
  }

  function singleLabel(host: string): string | undefined {
    if (!listed.has(rootSuffix) || ownMachine.has(host)) return undefined;
    // `ai` and `wiki` are somebody else's, with or without a host of that name.
    return suffixFault(host) === undefined ? host : undefined;
  }

  return {
    /** Returns undefined for a name that the operator does not list, and for a listed suffix itself. */
    registrable(host: string): string | undefined {
      if (listed.has(host)) return undefined;
      const labels = host.split('.');
      if (labels.length === 1) return singleLabel(host);
      // The longest listed suffix first.
      for (let from = 1; from < labels.length; from++) {
        if (listed.has(labels.slice(from).join('.'))) return labels.slice(from - 1).join('.');
      }
      return undefined;
    },
  };
}

type ClientSuffixes = ReturnType<typeof createClientSuffixes>;

function isPrivateArpa(host: string): boolean {
  return host === privateArpa || host.endsWith(`.${privateArpa}`);
}

function isKnown({ isIcann, isPrivate }: ReturnType<typeof parse>): boolean {
  return isIcann === true || isPrivate === true;
}

declare const clientBrand: unique symbol;

/** A checked client; only `parseClientId` makes it. */
export interface Client {
  readonly [clientBrand]: true;
  readonly id: string;
  /** The domain that somebody registered, public suffixes of providers counted as suffixes. */
  readonly registrable: string;
}

export interface ClientRules {
  /** True allows the names of this machine too, with plain http, for trying things out. */
  readonly demo: boolean;
  /** The names of an intranet; none when left out. */
  readonly suffixes?: ClientSuffixes;
}

/** The client ids of the demo: never a domain, so they can't collide with a site. */
const demoClients: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

/** Returns undefined for what can't be a client: a suffix, an address, an unlisted name of an intranet. */
export function registrableDomain(host: string, suffixes?: ClientSuffixes): string | undefined {
  if (!isName(host)) return undefined;
  return publicRegistrable(host) ?? suffixes?.registrable(host);
}

export function isDemoClient(id: string): boolean {
  return demoClients.has(id);
}

/** Checks a client id. `invalid_client_id`, whose detail does not repeat the text: it may be anything. */
export function parseClientId(text: string, { demo, suffixes }: ClientRules): Result<Client> {
  if (demo && isDemoClient(text)) return ok({ id: text, registrable: text } as Client);
  const registrable = registrableDomain(text, suffixes);
  if (registrable === undefined) {
    return fail('invalid_client_id', 'The client_id must be the domain of a site.', 'client_id');
  }
  return ok({ id: text, registrable } as Client);
}
