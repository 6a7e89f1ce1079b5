/** The use of a provider's addresses by its name: known ones, rules, and names that leave a doubt. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageOf, usageTypes } from '../../src/geo/usage.ts';

const hosting = 'Data Center/Web Hosting/Transit';

test('large providers have their use and domain, in any case', () => {
  for (const [name, usageType, domain] of [
    ['Hetzner Online GmbH', hosting, 'hetzner.com'],
    ['HETZNER ONLINE GMBH', hosting, 'hetzner.com'],
    ['Google LLC', hosting, 'google.com'],
    ['Google Fiber Inc.', 'Fixed Line ISP', 'google.com'],
    ['Deutsche Telekom AG', 'Fixed Line ISP', 'telekom.de'],
    ['China Mobile', 'Mobile ISP', 'chinamobile.com'],
    ['Cloudflare, Inc.', 'Content Delivery Network', 'cloudflare.com'],
    ['United States Department of Defense (DoD)', 'Military', 'defense.gov'],
  ] as const) {
    assert.deepEqual(usageOf(name), { usageType, domain }, name);
  }
});

test('words that leave no doubt say the use, and the rest is unknown', () => {
  for (const [name, usageType] of [
    ['Universität Wien', 'University/College/School'],
    ['KIBRIS MOBILE TELEKOMUNIKASYON LTD.', 'Mobile ISP'],
    ['Lig Telecom', 'Fixed Line ISP'],
    ['BGO Cloud OOD', hosting],
    ['City of St. Cloud', 'Government'],
    ['Navy Federal Credit Union', 'Commercial'],
    ['The Salvation Army', 'Organization'],
    ['National Library of Latvia', 'Library'],
    ['', 'Unknown'],
    ['Unknown', 'Unknown'],
    ['Googleplex Toys', 'Unknown'],
    ['Switchboard GmbH', 'Unknown'],
    ['Servercow Media', 'Unknown'],
  ] as const) {
    assert.deepEqual(usageOf(name), { usageType, domain: null }, name);
  }
});

test('no name of a hostile file fails, or has a use that is not one', () => {
  for (const name of ['__proto__', 'constructor', '\u0000', '🦊'.repeat(100), 'a'.repeat(200)]) {
    assert.ok(usageTypes.includes(usageOf(name).usageType), name);
  }
});
