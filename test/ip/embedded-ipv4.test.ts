/** Which IPv4 address stands behind an IPv6 one, and which IPv4 network behind a network. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { formatIp, parseIp } from '../../src/ip/address.ts';
import {
  embeddedIpv4,
  embeddedNetwork,
  publicEmbeddedIpv4,
  textOfEmbedded,
} from '../../src/ip/embedded-ipv4.ts';
import { networksOf } from '../../src/ip/networks.ts';
import { formatPrefix, parsePrefix } from '../../src/ip/prefix.ts';
import { formsOf } from '../support/ip-forms.ts';

function parsed(text: string): { family: 0 | 4 | 6; words: Uint32Array } {
  const words = new Uint32Array(4);
  return { family: parseIp(text, words), words };
}

it('every form of an ordinary or documentation address gives that address', () => {
  for (const quad of ['8.8.8.8', '45.10.0.7', '198.51.100.7', '1.2.3.4', '223.255.255.254']) {
    for (const [name, form] of Object.entries(formsOf(quad))) {
      assert.equal(textOfEmbedded(form), quad, `${name} ${form}`);
    }
    assert.equal(textOfEmbedded(`::ffff:${quad}`), quad);
    assert.equal(textOfEmbedded(quad), quad);
  }
});

it('a private or other special address stands behind nothing', () => {
  for (const quad of ['10.0.0.1', '127.0.0.1', '192.168.1.1', '169.254.169.254', '224.0.0.1']) {
    for (const [name, form] of Object.entries(formsOf(quad))) {
      const { family, words } = parsed(form);
      assert.equal(family, 6);
      assert.equal(publicEmbeddedIpv4(6, words), -1, `${name} ${form}`);
      assert.equal(textOfEmbedded(form), formatIp(6, words));
    }
  }
});

it('other addresses embed none, also beside the ranges that do', () => {
  const others = ['::', '::1', '::ffff', '2001:db8::808:808', '2003:808:808::', '2001:1::808:808'];
  others.push('64:ff9a::808:808', '64:ff9b:2::808:808', '64:ff9b:0:0:1::808:808');
  others.push('64:ff9b::1:0:808:808', '0:0:1::808:808', '::1:808:808', '::fffe:0:808:808');
  // ISATAP: whoever has a network can write any IPv4 address there.
  others.push('2a10::5efe:808:808', '2a10::200:5efe:808:808', 'fe80::5efe:8.8.8.8');
  for (const text of others) {
    const { family, words } = parsed(text);
    assert.equal(family, 6, text);
    assert.equal(embeddedIpv4(words), -1, text);
    assert.equal(textOfEmbedded(text), formatIp(6, words));
  }
});

it('no words throw, and what is found is an unsigned number', () => {
  const word = fc.nat(0xffff_ffff);
  const starts = fc.constantFrom(0, 0x64_ff9b, 0x2001_0000, 0x2002_0808);
  fc.assert(
    fc.property(fc.oneof(word, starts), fc.oneof(word, fc.constant(0)), word, word, (...four) => {
      const found = embeddedIpv4(Uint32Array.from(four));
      assert.ok(Number.isInteger(found) && found >= -1 && found <= 0xffff_ffff);
    }),
  );
});

it('a network of such addresses is the IPv4 network', () => {
  const cases = {
    '64:ff9b::808:800/120': '8.8.8.0/24',
    '64:ff9b::8.8.8.8/128': '8.8.8.8/32',
    '::ffff:0:45.10.0.0/112': '45.10.0.0/16',
    '::45.10.0.0/112': '45.10.0.0/16',
    '2002:808:800::/40': '8.8.8.0/24',
    '2002:808:808::/48': '8.8.8.8/32',
    '2002:808:808:1::/64': '8.8.8.8/32',
    '2001:0:4136:e378:8000:63bf:f7f7:f700/120': '8.8.8.0/24',
    '64:ff9b:1::8.8.8.8/128': '8.8.8.8/32',
    // More than a part of IPv4, less than one, or none.
    '64:ff9b::/96': '64:ff9b::/96',
    '64:ff9b::800:0/102': '64:ff9b::800:0/102',
    '64:ff9b:1::/48': '64:ff9b:1::/48',
    '2002::/16': '2002::/16',
    '2001::/32': '2001::/32',
    '64:ff9b::a00:0/104': '64:ff9b::a00:0/104',
    '2a10::/32': '2a10::/32',
    '2a00:0:acc7:0:3083:7f1::/103': '2a00:0:acc7:0:3083:7f1::/103',
    '64:ff9b::1:808:800/120': '64:ff9b::1:808:800/120',
    '8.8.8.0/24': '8.8.8.0/24',
  };
  for (const [text, wanted] of Object.entries(cases)) {
    const prefix = parsePrefix(text);
    assert.ok(prefix.ok, text);
    assert.equal(formatPrefix(embeddedNetwork(prefix.value)), wanted, text);
  }
});

it('limits count who stands behind an address, not the translator that all share', () => {
  for (const quad of ['45.10.0.7', '10.0.0.1']) {
    for (const form of Object.values(formsOf(quad))) {
      assert.deepEqual(networksOf(form), networksOf(quad), form);
    }
  }
  assert.notDeepEqual(networksOf('64:ff9b::45.10.0.7'), networksOf('64:ff9b::45.10.1.7'));
});
