/** Scopes, the profile at rest, what sites see of it, and what a person may type. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ageOn,
  decodeProfile,
  encodeProfile,
  newProfile,
  type Profile,
  profileFieldsOf,
  profileJson,
} from '../../../../src/signon/people/profile/profile.ts';
import {
  countryCodes,
  editProfile,
  invisibleCharacterIn,
  type ProfileChanges,
} from '../../../../src/signon/people/profile/profile-edit.ts';
import {
  inOrder,
  parseScope,
  type Scope,
  scopeBits,
  scopeNames,
  scopesOf,
} from '../../../../src/signon/sites/scopes.ts';
import { seededRandom } from '../../../support/seeded.ts';
import { startMs } from '../../fixture.ts';

const empty = newProfile(seededRandom(5), 'Ada@Mail.example', true);
const full: Profile = {
  ...empty,
  givenName: 'Ada',
  familyName: 'Lovelace',
  nickname: 'ada',
  avatar: '',
  phone: '+33612345678',
  phoneVerified: true,
  address: {
    streetAddress: '12 rue de la Paix',
    locality: 'Paris',
    region: '',
    postalCode: '75002',
    country: 'FR',
  },
  birthdate: '2000-02-29',
  ageVerified: true,
  plan: 'plus',
  liquidGlass: true,
};
const view = { now: startMs, avatarUrl: (name: string) => `https://sso.example/avatars/${name}` };
const json = (profile: Profile, ...scopes: Scope[]) => profileJson(profile, scopes, view);

test('a scope gives its fields and no others', () => {
  assert.deepEqual(json(full, 'openid'), { service_id: full.serviceId });
  assert.deepEqual(json(full, 'email'), { email: 'Ada@Mail.example', email_verified: true });
  assert.deepEqual(json(full, 'phone'), {
    phone_number: '+33612345678',
    phone_number_verified: true,
  });
  assert.deepEqual(json(full, 'address'), {
    address: {
      formatted: '12 rue de la Paix\n75002 Paris\nFR',
      street_address: '12 rue de la Paix',
      locality: 'Paris',
      postal_code: '75002',
      country: 'FR',
    },
  });
  assert.deepEqual(json(full, 'age'), { birthdate: '2000-02-29', age: 26, age_verified: true });
  assert.deepEqual(json(full, 'subscription'), { service_plus: true, service_plan: 'plus' });
  assert.deepEqual(json(full, 'preferences'), { liquid_glass: true });
  assert.deepEqual(json(full), {});
  for (const granted of fc.sample(fc.subarray([...scopeNames]), { numRuns: 100, seed: 3 })) {
    const fields: string[] = granted.flatMap((scope) => [...profileFieldsOf(scope)]);
    assert.deepEqual(Object.keys(json(full, ...granted)).sort(), fields.sort());
  }
});

test('what the person left empty is absent', () => {
  assert.deepEqual(json(empty, ...scopeNames), {
    service_id: empty.serviceId,
    picture: json(empty, 'profile', 'email').picture,
    email: 'Ada@Mail.example',
    email_verified: true,
    age_verified: false,
    service_plus: false,
    service_plan: 'free',
    liquid_glass: false,
  });
  assert.deepEqual(json({ ...empty, emailVerified: false }, 'email'), {});
});

test('the picture tells the mail address only to those who get it anyway', () => {
  const url = (hash: string) => `https://gravatar.com/avatar/${hash}?d=identicon&s=256`;
  // printf %s ada@mail.example | sha256sum
  const ofEmail = '5b48ec4e1914e24663c2fe34b93e3e93062530ae5f5c7ea128cfe9a08bdbcc85';
  const withEmail = json(full, 'profile', 'email').picture;
  const without = json(full, 'profile').picture;
  assert.notEqual(withEmail, without);
  assert.equal(
    withEmail,
    json({ ...full, email: ' ada@mail.EXAMPLE ' }, 'profile', 'email').picture,
  );
  assert.equal(without, json({ ...full, email: 'x@y.example' }, 'profile').picture);
  assert.notEqual(without, json({ ...full, serviceId: 'other' }, 'profile').picture);
  assert.equal(withEmail, url(ofEmail));
  const own = json({ ...full, avatar: 'a1.webp' }, 'profile', 'email').picture;
  assert.equal(own, 'https://sso.example/avatars/a1.webp');
});

test('age counts full years of the day that it is in UTC', () => {
  const at = (text: string) => Date.parse(text);
  assert.equal(ageOn('2000-02-29', at('2026-02-28T23:59:59Z')), 25);
  assert.equal(ageOn('2000-02-29', at('2026-03-01T00:00:00Z')), 26);
  assert.equal(ageOn('2000-02-29', at('2028-02-29T00:00:00Z')), 28);
  assert.equal(ageOn('1990-11-21', at('2026-11-20T23:59:59Z')), 35);
  assert.equal(ageOn('1990-11-21', at('2026-11-21T00:00:00Z')), 36);
  assert.equal(ageOn('2026-11-21', at('2026-11-21T00:00:00Z')), 0);
});

test('a profile comes back from its bytes; damaged bytes give none', () => {
  assert.deepEqual(decodeProfile(encodeProfile(full)), full);
  assert.deepEqual(decodeProfile(encodeProfile(empty)), empty);
  const bytes = encodeProfile(full);
  assert.equal(decodeProfile(bytes.subarray(0, -1)), undefined);
  assert.equal(decodeProfile(Buffer.concat([bytes, Uint8Array.of(0)])), undefined);
  assert.equal(decodeProfile(Buffer.from(bytes).fill(9, 0, 1)), undefined);
  assert.equal(Buffer.from(bytes).toString('hex', 0, 2), '011f');
});

test('scopes parse in any order and spacing, each once; a stranger refuses all', () => {
  const parse = (text?: string) => {
    const parsed = parseScope(text);
    return parsed.ok ? parsed.value : parsed.error;
  };
  assert.deepEqual(parse('email openid  email'), ['openid', 'email']);
  assert.deepEqual(parse(scopeNames.join(' ')), scopeNames);
  for (const text of [undefined, '', '   ']) assert.equal(parse(text), 'invalid_request');
  for (const text of [
    'openid root',
    'OpenID',
    'openid,email',
    'openid\temail',
    'openid\0',
    '__proto__',
    'openid '.repeat(100),
  ]) {
    assert.equal(parse(text), 'invalid_scope', text);
  }
  for (let bits = 0; bits < 256; bits++) assert.equal(scopeBits(scopesOf(bits)), bits);
  assert.deepEqual(inOrder(['x', 'email', 'openid']), ['openid', 'email']);
});

const edited = (changes: ProfileChanges, from: Profile = full) =>
  editProfile(from, changes, startMs);

test('good changes are composed, trimmed and kept', () => {
  const done = edited({
    given_name: '  Ame\u0301lie ',
    nickname: '👩‍🚀',
    country: ' be ',
    postal_code: '1000',
    phone_number: '0470 12 34 56',
    birthdate: '1999-12-31',
    liquid_glass: false,
  });
  assert.ok(done.ok);
  assert.equal(done.value.givenName, 'Am\u00e9lie');
  assert.equal(done.value.nickname, '👩‍🚀');
  assert.deepEqual(done.value.address, { ...full.address, country: 'BE', postalCode: '1000' });
  assert.equal(done.value.phone, '+32470123456');
  assert.equal(done.value.liquidGlass, false);
  assert.equal(done.value.familyName, 'Lovelace');
  const cleared = edited({ given_name: '', birthdate: '', phone_number: '', country: '' });
  assert.ok(cleared.ok);
  assert.equal(cleared.value.givenName + cleared.value.birthdate + cleared.value.phone, '');
  assert.deepEqual(edited({}), { ok: true, value: full });
});

test('a verified fact is lost with a change of what it was about, and only then', () => {
  const verified = (changes: ProfileChanges) => {
    const done = edited(changes);
    assert.ok(done.ok);
    return [done.value.phoneVerified, done.value.ageVerified];
  };
  assert.deepEqual(verified({ nickname: 'x' }), [true, true]);
  assert.deepEqual(verified({ phone_number: '06 12 34 56 78', birthdate: '2000-02-29' }), [
    true,
    true,
  ]);
  assert.deepEqual(verified({ phone_number: '+33612345679' }), [false, true]);
  assert.deepEqual(verified({ phone_number: '' }), [false, true]);
  assert.deepEqual(verified({ birthdate: '2000-03-01' }), [true, false]);
});

test('bad changes name their field', () => {
  const bad: readonly (readonly [keyof ProfileChanges, string[]])[] = [
    [
      'given_name',
      ['a\u0000b', 'a\nb', 'x'.repeat(101), 'e\u202evil', '\ud800', 'a\u2028b', 'y\u2066x'],
    ],
    [
      'nickname',
      ['n'.repeat(61), '\u0007', 'ad\u200bmin', 'a\ufeffdmin', 'adm\u3164in', 'a\u00addmin'],
    ],
    // Tags, selectors and joiners that leave a name as it looks.
    [
      'family_name',
      ['Ad\u{e0061}a', 'Ad\u{e0fff}a', 'Ad\ufe0fa', 'Ad\u200da', 'Ад\u034fа', '愛\u{e0041}香'],
    ],
    ['region', ['a\u{1d173}b', 'a\ufdd0b', '👩\u{e0067}\u{e007f}x']],
    ['street_address', ['s'.repeat(100_000), 'a\nb\nc\nd', 'a\u0000b\nc']],
    ['postal_code', ['1'.repeat(21)]],
    ['country', ['XX', 'FRA', 'F', 'France', 'ZZ', 'EU', 'f\u0000']],
    [
      'birthdate',
      [
        '2000-02-30',
        '2001-02-29',
        '2026-11-22',
        '1895-01-01',
        '2000-2-3',
        '20000203',
        'x',
        '2000-13-01',
        '2000-00-10',
        '0000-01-01',
        '+002000-01-01',
        '2000-01-01T00:00:00Z',
      ],
    ],
    [
      'phone_number',
      [
        '12',
        '+33',
        'call +33612345678',
        '+999123456789',
        '+33612345678;ext=5',
        '6'.repeat(41),
        'javascript:1',
      ],
    ],
  ];
  for (const [field, texts] of bad) {
    for (const text of texts) {
      const done = edited({ [field]: text } as ProfileChanges);
      assert.ok(!done.ok, `${field}: ${JSON.stringify(text)}`);
      assert.equal(done.error, 'invalid_parameter');
      assert.equal(done.parameter, field);
    }
  }
  const national = edited({ phone_number: '0612345678', country: '' });
  assert.equal(national.ok, false, 'a national number without a country');
  const antarctica = edited({ phone_number: '0612345678', country: 'AQ' });
  assert.equal(antarctica.ok, false, 'a country without numbers of its own');
});

test('no text, however odd, makes editing throw', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
  const changes = fc.record(
    { given_name: text, country: text, birthdate: text, phone_number: text },
    { requiredKeys: [] },
  ) as fc.Arbitrary<ProfileChanges>;
  fc.assert(
    fc.property(changes, (typed) => {
      const done = edited(typed);
      if (done.ok) assert.deepEqual(decodeProfile(encodeProfile(done.value)), done.value);
    }),
    { numRuns: 2_000, seed: 8 },
  );
});

test('the countries are those of ISO 3166-1', () => {
  assert.equal(countryCodes.length, 249);
  assert.deepEqual([...countryCodes].sort(), [...new Set(countryCodes)]);
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  for (const code of countryCodes) assert.ok(names.of(code), code);
});

test('a text of nothing that can be seen is no name', () => {
  const blanks = [
    '\u200b',
    '\u00ad\u00ad',
    '\u2060',
    '\u115f',
    '\u3164',
    '\uffa0',
    '\u2800',
    '\u17b4',
    '\u034f',
    '\ufe0f',
    '\u{e0020}',
    '\u{1d173}',
    '\u0301',
    '\u200d\u200c',
    ' \u200b\u3164\u00a0 ',
  ];
  const fields = [
    'nickname',
    'given_name',
    'family_name',
    'locality',
    'region',
    'street_address',
  ] as const;
  for (const text of blanks) {
    for (const field of fields) {
      const done = editProfile(full, { [field]: text }, 0);
      assert.ok(!done.ok && done.parameter === field, `${field} ${JSON.stringify(text)}`);
    }
  }
  for (const name of [
    'Ada',
    '愛',
    'é',
    '7',
    '👩‍🚀',
    '❤\ufe0f',
    '1\ufe0f\u20e3',
    '葛\u{e0100}',
    '’',
    '',
    '   ',
    'می‌خواهم',
  ]) {
    assert.ok(editProfile(full, { nickname: name }, 0).ok, name);
  }
  const flag = '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}';
  const done = editProfile(full, { nickname: `Ada ${flag}` }, 0);
  assert.ok(done.ok);
  assert.equal(done.value.nickname, `Ada ${flag}`, 'the flag of England');
});

test('marks that nobody sees are taken off at the ends, and named with their position within', () => {
  const kept: readonly (readonly [keyof ProfileChanges, string, string])[] = [
    ['given_name', '\u200f\u05e9\u05e8\u05d4', '\u05e9\u05e8\u05d4'],
    ['family_name', ' \u202aLovelace\u202c\u200e ', 'Lovelace'],
    ['nickname', '\ufeffada\u200b', 'ada'],
    ['locality', '\u2068Paris\u2069', 'Paris'],
    ['region', '\u00adGard\u2060', 'Gard'],
    ['postal_code', '\u200e75001', '75001'],
  ];
  const stored = {
    given_name: (p: Profile) => p.givenName,
    family_name: (p: Profile) => p.familyName,
    nickname: (p: Profile) => p.nickname,
    locality: (p: Profile) => p.address.locality,
    region: (p: Profile) => p.address.region,
    postal_code: (p: Profile) => p.address.postalCode,
  };
  for (const [field, typed, text] of kept) {
    const done = editProfile(full, { [field]: typed }, 0);
    assert.ok(done.ok, field);
    assert.equal(stored[field as keyof typeof stored](done.value), text, field);
  }
  const born = editProfile(full, { birthdate: '\u200e1990-12-10\u200f' }, Date.now());
  assert.equal(born.ok && born.value.birthdate, '1990-12-10');
  assert.deepEqual(invisibleCharacterIn('family_name', ' Lang\u00adname'), {
    code: 'U+00AD',
    position: 5,
    before: 'Lang',
  });
  const khmer = invisibleCharacterIn('given_name', '\u1780\u1781\u200b\u1782');
  assert.deepEqual([khmer?.code, khmer?.position], ['U+200B', 3]);
  assert.deepEqual(invisibleCharacterIn('nickname', '\u{1d49c}\u{1d49c}\u202e.')?.position, 3);
  assert.equal(invisibleCharacterIn('nickname', '\u200fada\u200e'), undefined);
});

test('a street has up to three lines, however they end, each without blanks around it', () => {
  const done = editProfile(
    full,
    { street_address: ' 12 rue X\u200e \r\n\r\n\u200f b\u00e2t. C\rapt 4 ' },
    0,
  );
  assert.equal(done.ok && done.value.address.streetAddress, '12 rue X\nb\u00e2t. C\napt 4');
});
