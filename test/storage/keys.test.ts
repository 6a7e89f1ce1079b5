/** Key encodings: order, namespaces, and that released encodings stay what they are. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as keys from '../../src/storage/keys.ts';
import { seededRandom } from '../support/seeded.ts';

const { encodeKey, namespaces, prefixEnd, scratchKey, text, u16, u32, u64, u8 } = keys;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

it('sorts as the values do, part by part', () => {
  const random = seededRandom(3);
  const alphabet = ['', 'a', 'aa', 'b', '\0', '\0\0', 'a\0', 'a\0b', 'é', '☃'];
  const rows = Array.from({ length: 500 }, () => ({
    name: alphabet[Math.floor(random.next() * alphabet.length)]!,
    number: Math.floor(random.next() * 70_000),
  }));
  const byBytes = rows
    .map((row) => ({ ...row, key: scratchKey(text(row.name), u32(row.number)) }))
    .sort((x, y) => Buffer.compare(x.key, y.key));
  const byValue = rows.toSorted(
    (x, y) => Buffer.compare(Buffer.from(x.name), Buffer.from(y.name)) || x.number - y.number,
  );
  assert.deepEqual(
    byBytes.map(({ name, number }) => [name, number]),
    byValue.map(({ name, number }) => [name, number]),
    'seed 3',
  );
});

it('every namespace has a number of its own', () => {
  const numbers = Object.values(namespaces);
  assert.equal(new Set(numbers).size, numbers.length);
});

it('the encodings on disk stay what they are', () => {
  const fixed: [Uint8Array, string][] = [
    [keys.checkpointKey('ip'), '02697000'],
    [keys.projectionPageKey(2_560, 258n, 7), '0300000a00000000000000010207'],
    [keys.projectionPagePrefix(), '03'],
    [keys.activityKey(), '06'],
    [keys.boundKey('tips'), '077469707300'],
    [keys.boundKey('webhooks', 'x'), '07776562686f6f6b73007800'],
    [keys.trustedTimeKey(), '08'],
    [keys.accountKey('x1'), '10783100'],
    [keys.accountByEmailKey('a@b.example'), '116140622e6578616d706c6500'],
    [keys.apiKeyKey('k'), '126b00'],
    [keys.apiKeyByAccountKey('x', 'k'), '1378006b00'],
    [keys.apiKeyByAccountPrefix('x'), '137800'],
    [keys.apiKeyByAccountPrefix(), '13'],
    [keys.apiKeyUseKey('k'), '186b00'],
    [keys.accountRoleKey('x1'), '19783100'],
    [keys.accountRolePrefix(), '19'],
    [keys.agentBanKey('x1', '::1'), '1a783100' + '3a3a3100'],
    [keys.agentBanPrefix('x'), '1a7800'],
    [keys.agentBanPrefix(), '1a'],
    [keys.reportByAccountKey('x', 1, new Uint8Array(16)), `337800fffffffffffe${'0'.repeat(32)}`],
    [keys.reportByAccountPrefix('x'), '337800'],
    [keys.reportsIndexedKey('x'), '347800'],
    [keys.reportTailKey(new Uint8Array(17), 'x'), `35${'00'.repeat(17)}7800`],
    [keys.reportTailPrefix(new Uint8Array(17)), `35${'00'.repeat(17)}`],
    [keys.reportTailByAccountKey('x', new Uint8Array(17)), `367800${'00'.repeat(17)}`],
    [keys.reportTailByAccountPrefix('x'), '367800'],
    [keys.reportTailDueKey(258, new Uint8Array(17)), `370102${'00'.repeat(17)}`],
    [keys.reportTailDuePrefix(), '37'],
    [keys.webhookKey('x', 'h'), '1b78006800'],
    [keys.webhookPrefix('x'), '1b7800'],
    [keys.webhookPrefix(), '1b'],
    [keys.ownedApiKeyKey('x', 'k'), '1c78006b00'],
    [keys.ownedApiKeyPrefix('x'), '1c7800'],
    [keys.siteKeyKey('s'), '407300'],
    [keys.siteKeyPrefix(), '40'],
    [keys.siteKeyByAccountKey('x', 's'), '4178007300'],
    [keys.siteKeyByAccountPrefix('x'), '417800'],
    [keys.usedReceiptKey(Uint8Array.of(1, 2)), '420102'],
    [keys.sightingKey(Uint8Array.of(1, 2)), '800102'],
    [keys.removalKey('192.0.2.1'), '233139322e302e322e3100'],
    [keys.anonymousReportKey('192.0.2.1'), '243139322e302e322e3100'],
    [keys.allowKey('192.0.2.0/24'), '203139322e302e322e302f323400'],
    [keys.manualEntryKey('192.0.2.0/24'), '253139322e302e322e302f323400'],
    [keys.peerKey(3), '2603'],
    [keys.peerCursorKey(32), '2720'],
    [keys.peerNotesKey(2), '2902'],
    [keys.sourceSecretKey('ab'), '28616200'],
    [keys.sourceSecretPrefix(), '28'],
    [keys.subscriptionKey('l'), '226c00'],
    [keys.subscriptionPrefix(), '22'],
    [keys.feedHeadKey(), '50'],
    [keys.feedStepKey(258), '510000000000000102'],
    [keys.feedBaseKey(258, 3), '5200000000000001020003'],
    [keys.federationKeyKey(), '90'],
    [keys.federationPublicationKey(), '91'],
    [keys.federationSegmentKey(258), '920000000000000102'],
    [keys.federationSegmentPrefix(), '92'],
    [keys.federationSnapshotKey(258, 3), '9300000000000001020003'],
    [keys.federationSnapshotPrefix(258), '930000000000000102'],
    [keys.federationSnapshotPrefix(), '93'],
    [keys.profileKey('x'), '607800'],
    [keys.consentKey('x', 'a.b', 'c'), '617800612e62006300'],
    [keys.consentPrefix('x'), '617800'],
    [keys.consentPrefix('x', 'a.b'), '617800612e6200'],
    [keys.consentUseKey('x', 'a.b', 'c'), '627800612e62006300'],
    [keys.consentPrefix(), '61'],
    [keys.consentUsePrefix(), '62'],
    [keys.blockedSiteKey('a.b'), '76612e6200'],
    [keys.blockedSitePrefix(), '76'],
    [keys.siteAccessKey('a.b'), '81612e6200'],
    [keys.siteAccessPrefix(), '81'],
    [keys.accountGroupsKey('x'), '827800'],
    [keys.accountGroupsPrefix(), '82'],
    [keys.siteNewsKey('x', 1), '83780001'],
    [keys.siteNewsPrefix(), '83'],
    [keys.siteNoticeKey(['b', 'a.b', 'c'], 's', 3), '846200612e62006300730003'],
    [keys.siteNoticePrefix('b', 'a.b', 'c'), '846200612e62006300'],
    [keys.siteNoticePrefix(), '84'],
    [keys.trustedBrowserKey('x', Uint8Array.of(1)), '85780001'],
    [keys.trustedBrowserPrefix('x'), '857800'],
    [keys.siteNoticeEnd('b'), '846200ff'],
    [keys.siteDeliveryKey('a.b', 'c'), '86612e62006300'],
    [keys.siteDeliveryPrefix(), '86'],
    [keys.consentTransactionKey(Uint8Array.of(1, 2), 7), '63010207'],
    [keys.consentTransactionPrefix(), '63'],
    [keys.consentTransactionPrefix(Uint8Array.of(1, 2)), '630102'],
    [keys.usedSealKey(Uint8Array.of(1, 2)), '670102'],
    [keys.notifiedBudgetsKey(), '17'],
    [keys.noticeKey('x', Uint8Array.of(1, 2)), '7378000102'],
    [keys.noticePrefix('x'), '737800'],
    [keys.noticePrefix(), '73'],
    [keys.authorizationCodeKey(Uint8Array.of(1, 2)), '640102'],
    [keys.credentialsKey('x'), '687800'],
    [keys.signonLinkKey(Uint8Array.of(1, 2)), '690102'],
    [keys.signonLinkPrefix(), '69'],
    [keys.sessionKey(Uint8Array.of(1, 2)), '6a0102'],
    [keys.sessionByAccountKey('x', Uint8Array.of(1)), '6b780001'],
    [keys.sessionByAccountPrefix('x'), '6b7800'],
    [keys.secondFactorKey('x'), '6c7800'],
    [keys.passkeyKey(Uint8Array.of(1, 2)), '6d0102'],
    [keys.passkeyByAccountKey('x', Uint8Array.of(1)), '6e780001'],
    [keys.passkeyByAccountPrefix('x'), '6e7800'],
    [keys.passkeyChallengeKey(Uint8Array.of(1, 2)), '6f0102'],
    [keys.securityLogKey('x', 1, Uint8Array.of(9)), '707800fffffffffffe09'],
    [keys.securityLogPrefix('x'), '707800'],
    [keys.phoneCodeKey('x'), '717800'],
    [keys.erasureKey('x'), '727800'],
    [keys.erasurePrefix(), '72'],
    [keys.erasedKey('x'), '747800'],
    [keys.erasedPrefix(), '74'],
    [keys.pendingAccountKey('x'), '757800'],
    [keys.pendingAccountPrefix(), '75'],
    [keys.journalRowKey(2 ** 32 + 1), '0000000100000001'],
    [keys.expiryRowKey(1, 2), '000000000001000000000002'],
  ];
  for (const [key, expected] of fixed) assert.equal(hex(key), expected);
});

it('a projection page key is read back', () => {
  const read = keys.readProjectionPageKey(keys.projectionPageKey(4, 99n, 3));
  assert.deepEqual(read, { page: 4, seq: 99n, part: 3 });
});

it('the day and the address of a tail that ends are read back', () => {
  const address = Uint8Array.from({ length: 17 }, (_, i) => i);
  const read = keys.readReportTailDueKey(keys.reportTailDueKey(20_000, address));
  assert.deepEqual(read, { day: 20_000, address });
});

it('the versions in keys of feeds are read back', () => {
  const version = 1_795_245_917_104;
  assert.equal(keys.readFeedVersion(keys.feedStepKey(version)), version);
  assert.equal(keys.readFeedVersion(keys.feedBaseKey(version, 7)), version);
});

it('the numbers in keys of segments and snapshots are read back', () => {
  const seq = 2 ** 40;
  assert.equal(keys.readFederationSeq(keys.federationSegmentKey(seq)), seq);
  assert.equal(keys.readFederationSeq(keys.federationSnapshotKey(seq, 7)), seq);
});

it('the end of a prefix is after every key under it and before all others', () => {
  assert.equal(hex(prefixEnd(Uint8Array.of(1, 2))!), '0103');
  assert.equal(hex(prefixEnd(Uint8Array.of(1, 0xff, 0xff))!), '02');
  assert.equal(prefixEnd(Uint8Array.of(0xff)), undefined);
});

it('refuses integers out of range and keys over the bound', () => {
  assert.throws(() => u8(256), RangeError);
  assert.throws(() => u16(-1), RangeError);
  assert.throws(() => u32(1.5), RangeError);
  assert.throws(() => u64(-1n), RangeError);
  assert.throws(() => encodeKey(namespaces.scratch, text('x'.repeat(1_977))), RangeError);
  assert.equal(encodeKey(namespaces.scratch, text('x'.repeat(1_976))).length, 1_978);
});

it('a text of any length and script is its UTF-8, each zero byte escaped, and an event id its UTF-8', () => {
  for (const value of ['', 'plain', 'a\0b', 'é', '☃'.repeat(40), 'x'.repeat(65), 'x'.repeat(64)]) {
    const utf8 = Buffer.from(value, 'utf8');
    const escaped = [...utf8].flatMap((byte) => (byte === 0 ? [0, 0xff] : [byte]));
    assert.deepEqual([...text(value)], [...escaped, 0]);
    assert.deepEqual([...keys.eventIdRowKey(value)], [...utf8]);
  }
});
