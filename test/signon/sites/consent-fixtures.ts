/** Consents of several kinds, for the tests of their pages. */

import type { AskedScope } from '../../../src/signon/sites/authorization.ts';
import { parseClientId } from '../../../src/signon/sites/client-id.ts';
import type { ConsentPageData } from '../../../src/signon/sites/consent.page.tsx';
import { parseRedirectUri } from '../../../src/signon/sites/redirect-uri.ts';

export function asked(
  scope: AskedScope['scope'],
  values: AskedScope['values'],
  before?: AskedScope['before'],
): AskedScope {
  const isFixed = scope === 'openid';
  return { scope, values, isFixed, before, isOn: isFixed || before !== 'refused', unseen: [] };
}

const picture = `https://gravatar.com/avatar/${'0123456789abcdef'.repeat(4)}?d=identicon&s=256`;

export const everyScope: readonly AskedScope[] = [
  asked('openid', { service_id: 'nJ3kW0c2TzCq9lX5vAe7Rw' }),
  asked('profile', { given_name: 'Ada', family_name: 'Lovelace', picture }),
  asked('email', { email: 'ada@mail.example', email_verified: true }),
  asked('phone', {}),
  asked('address', { address: { formatted: '12 rue de l’Exemple\n75011 Paris\nFR' } }),
  asked('age', { birthdate: '1990-12-10', age: 35, age_verified: false }),
  asked('subscription', { service_plus: false, service_plan: 'free' }),
  asked('preferences', { liquid_glass: true }),
];

function rebuilt(data: Partial<ConsentPageData>): ConsentPageData {
  return {
    client: { id: 'example.com', registrable: 'example.com' },
    redirectHost: 'example.com',
    email: 'ada@mail.example',
    scopes: everyScope,
    action: '/authorize.php/consent',
    id: 'the-id',
    shown: 'the-values',
    csrf: 'the-token',
    ...data,
  };
}

export const firstConsent = rebuilt({});

export const addedConsent = rebuilt({
  client: { id: 'forum.example.co.uk', registrable: 'example.co.uk' },
  redirectHost: 'login.forum.example.co.uk',
  scopes: [
    everyScope[0]!,
    { ...asked('profile', everyScope[1]!.values, 'granted') },
    { ...asked('email', everyScope[2]!.values, 'refused') },
    asked('phone', { phone_number: '+33612345678', phone_number_verified: true }),
    everyScope[4]!,
  ].map((scope) => (scope.isFixed ? { ...scope, before: 'granted' as const } : scope)),
});

/** A name that reads as `apple.com`, all in Cyrillic letters. */
export const lookAlikeConsent = rebuilt({
  lookAlike: 'apple.example',
  client: { id: 'xn--80ak6aa92e.com', registrable: 'xn--80ak6aa92e.com' },
  redirectHost: 'www.xn--80ak6aa92e.com',
  scopes: everyScope.slice(0, 3),
});

const longLabel = `${'very-long-'.repeat(6)}x`;
export const wideConsent = rebuilt({
  client: { id: `${longLabel}.${longLabel}.example.com`, registrable: 'example.com' },
  redirectHost: `callback.${longLabel}.${longLabel}.example.com`,
  email: `${'a'.repeat(64)}@${longLabel}.example`,
  scopes: [
    everyScope[0]!,
    asked('profile', { given_name: '<b>Ada</b> "&amp;"', nickname: 'W'.repeat(120), picture }),
    asked('address', { address: { formatted: `${'Straßenname'.repeat(20)}\nمدينة\nDE` } }),
  ],
});

export function targetOf(clientId: string, redirectUri: string) {
  const client = parseClientId(clientId, { demo: false });
  if (!client.ok) throw new Error(client.error);
  const redirect = parseRedirectUri(redirectUri, client.value, { demo: false });
  if (!redirect.ok) throw new Error(redirect.error);
  return { client: client.value, redirect: redirect.value, state: 's' };
}
