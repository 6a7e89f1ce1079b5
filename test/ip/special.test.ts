/** Special-use rows as the IANA registries print them, at both borders of each block. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { parseIp } from '../../src/ip/address.ts';
import { isPublic, specialUse } from '../../src/ip/special.ts';
import {
  groupsToWords,
  quadText,
  randomGroups,
  randomWord,
  seeded,
} from '../support/reputation/addresses.ts';

function classify(text: string): string {
  const words = new Uint32Array(4);
  const family = parseIp(text, words);
  assert.notEqual(family, 0, text);
  if (family === 0) return '';
  const use = specialUse(family, words);
  assert.equal(isPublic(family, words), use === undefined || use.globallyReachable, text);
  const marks = use === undefined ? '' : `${use.name}${use.documentation ? ' (example)' : ''}`;
  return `${isPublic(family, words) ? 'public' : 'special'} ${marks}`.trim();
}

test('IPv4 blocks begin and end where the registry says', () => {
  const cases: Record<string, string> = {
    '0.0.0.0': 'special This host on this network',
    '0.255.255.255': 'special This network',
    '1.0.0.0': 'public',
    '9.255.255.255': 'public',
    '10.0.0.0': 'special Private-Use',
    '11.0.0.0': 'public',
    '100.63.255.255': 'public',
    '100.64.0.0': 'special Shared Address Space',
    '100.127.255.255': 'special Shared Address Space',
    '100.128.0.0': 'public',
    '127.255.255.255': 'special Loopback',
    '169.254.169.254': 'special Link Local',
    '172.15.255.255': 'public',
    '172.31.255.255': 'special Private-Use',
    '172.32.0.0': 'public',
    '192.0.0.7': 'special IPv4 Service Continuity Prefix',
    '192.0.0.8': 'special IPv4 dummy address',
    '192.0.0.9': 'public Port Control Protocol Anycast',
    '192.0.0.10': 'public Traversal Using Relays around NAT Anycast',
    '192.0.0.11': 'special IETF Protocol Assignments',
    '192.0.0.170': 'special NAT64/DNS64 Discovery',
    '192.0.1.0': 'public',
    '192.0.2.255': 'special Documentation (TEST-NET-1) (example)',
    '192.31.196.1': 'public AS112-v4',
    '192.88.99.1': 'special Deprecated (6to4 Relay Anycast)',
    '192.88.99.2': 'special 6a44-relay anycast address',
    '198.17.255.255': 'public',
    '198.19.255.255': 'special Benchmarking',
    '198.20.0.0': 'public',
    '198.51.100.1': 'special Documentation (TEST-NET-2) (example)',
    '203.0.113.1': 'special Documentation (TEST-NET-3) (example)',
    '223.255.255.255': 'public',
    '224.0.0.1': 'special Multicast',
    '240.0.0.1': 'special Reserved',
    '255.255.255.254': 'special Reserved',
    '255.255.255.255': 'special Limited Broadcast',
    '::ffff:10.0.0.1': 'special Private-Use',
  };
  for (const [text, expected] of Object.entries(cases))
    assert.equal(classify(text), expected, text);
});

test('IPv6 blocks begin and end where the registry says', () => {
  const cases: Record<string, string> = {
    '::': 'special Unspecified Address',
    '::1': 'special Loopback Address',
    '::2': 'special Reserved by IETF',
    '::102:304': 'special Reserved by IETF',
    '64:ff9b::808:808': 'public IPv4-IPv6 Translation',
    '64:ff9b::127.0.0.1': 'special Loopback',
    '64:ff9b::9.255.255.255': 'public IPv4-IPv6 Translation',
    '64:ff9b::10.0.0.0': 'special Private-Use',
    '64:ff9b::192.0.0.9': 'public IPv4-IPv6 Translation',
    '64:ff9b::192.0.2.1': 'special Documentation (TEST-NET-1) (example)',
    '64:ff9b::255.255.255.255': 'special Limited Broadcast',
    '64:ff9b::1:127.0.0.1': 'special Reserved by IETF',
    '64:ff9b:1::1': 'special IPv4-IPv6 Translation',
    '64:ff9b:2::1': 'special Reserved by IETF',
    '100::1': 'special Discard-Only Address Block',
    '100:0:0:1::1': 'special Dummy IPv6 Prefix',
    '1fff:ffff::': 'special Reserved by IETF',
    '2000::': 'public',
    '2001::1': 'special TEREDO',
    '2001:1::': 'special IETF Protocol Assignments',
    '2001:1::1': 'public Port Control Protocol Anycast',
    '2001:1::3': 'public DNS-SD Service Registration Protocol Anycast',
    '2001:1::4': 'special IETF Protocol Assignments',
    '2001:2::1': 'special Benchmarking',
    '2001:3::1': 'public AMT',
    '2001:4:112::1': 'public AS112-v6',
    '2001:10::1': 'special Deprecated (previously ORCHID)',
    '2001:20::1': 'public ORCHIDv2',
    '2001:3f::1': 'public Drone Remote ID Protocol Entity Tags (DETs)',
    '2001:40::1': 'special IETF Protocol Assignments',
    '2001:1ff:ffff::': 'special IETF Protocol Assignments',
    '2001:200::': 'public',
    '2001:db8::1': 'special Documentation (example)',
    '2001:db9::1': 'public',
    '2002:808:808::1': 'special 6to4',
    '2620:4f:8000::1': 'public Direct Delegation AS112 Service',
    '2a00::1': 'public',
    '3fff:fff:ffff::1': 'special Documentation (example)',
    '3fff:1000::1': 'public',
    '4000::1': 'special Reserved by IETF',
    '5f00::1': 'special Segment Routing (SRv6) SIDs',
    'fbff::1': 'special Reserved by IETF',
    'fc00::1': 'special Unique-Local',
    'fdff::1': 'special Unique-Local',
    'fe80::1': 'special Link-Local Unicast',
    'fec0::1': 'special Deprecated (Site-Local)',
    'ff02::1': 'special Multicast',
  };
  for (const [text, expected] of Object.entries(cases))
    assert.equal(classify(text), expected, text);
});

test('what ipaddr.js calls unicast is public, but for blocks that it does not know', () => {
  const seed = 37;
  const random = seeded(seed);
  // Rows newer than the library's table, or outside what it covers.
  const unknownToIt =
    /^(Reserved by IETF|Dummy IPv6|Segment Routing|IPv4-IPv6|IETF|Deprecated|6a44)/;
  for (let i = 0; i < 20_000; i++) {
    const word = randomWord(random);
    const use4 = specialUse(4, Uint32Array.of(word, 0, 0, 0));
    const range4 = ipaddr.parse(quadText(word)).range();
    if (range4 === 'unicast')
      assert.equal(use4?.name, undefined, `seed ${seed}, ${quadText(word)}`);
    const groups = randomGroups(random);
    if (random.next() < 0.5) groups[0] = 0x2001;
    const use6 = specialUse(6, groupsToWords(groups));
    const address = new ipaddr.IPv6(groups);
    if (address.range() !== 'unicast' || use6 === undefined || unknownToIt.test(use6.name))
      continue;
    assert.fail(`seed ${seed}: ${address.toString()} is ${use6.name}`);
  }
});
