/** The OpenAPI description of the exchange of a code for a profile. The pages of sign-on are HTML and not described. */

import {
  answer,
  boolean,
  count,
  type Described,
  type JsonMembers,
  media,
  object,
  query,
  ref,
  type Schema,
  string,
} from '../../web/openapi.ts';
import { type Scope, scopeFields, scopeNames } from './scopes.ts';

export const exchangeParameters = ['code', 'client_id', 'redirect_uri', 'code_verifier'] as const;
export type ExchangeParameter = (typeof exchangeParameters)[number];

type Field = (typeof scopeFields)[Scope][number];

const addressParts = ['street_address', 'locality', 'region', 'postal_code', 'country'] as const;

/** The type and meaning of each field of the profile. A new field doesn't compile before it is here. */
export const profileFields: Readonly<Record<Field, Schema & { readonly description: string }>> = {
  service_id: { type: 'string', description: 'Public, stable, random: key your users by it.' },
  given_name: { type: 'string', description: 'First name.' },
  family_name: { type: 'string', description: 'Last name.' },
  nickname: { type: 'string', description: 'What the person wants to be called.' },
  picture: { type: 'string', format: 'uri', description: 'Own picture, or one drawn for the id.' },
  email: { type: 'string', description: 'Mail address.' },
  email_verified: { const: true, description: 'Always true: others are not shared.' },
  phone_number: { type: 'string', pattern: '^\\+[0-9]{4,15}$', description: 'E.164.' },
  phone_number_verified: { ...boolean, description: 'Whether a code sent to it came back.' },
  address: { $ref: '#/components/schemas/PostalAddress', description: 'Postal address.' },
  birthdate: { type: 'string', format: 'date', description: 'YYYY-MM-DD.' },
  age: { ...count, description: 'Full years today, UTC.' },
  age_verified: { ...boolean, description: 'Whether the operator has seen a proof of identity.' },
  service_plus: { ...boolean, description: 'Whether the plan is plus.' },
  service_plan: { enum: ['plus', 'free'], description: 'Plan of the account.' },
  liquid_glass: { ...boolean, description: 'How the person likes pages to look.' },
};

const parameterWords: Readonly<Record<ExchangeParameter, string>> = {
  code: 'Works once.',
  client_id: 'Optional, but send it: a code meant for another site is then refused.',
  redirect_uri: 'Optional, but send it: the text sent to /authorize.php.',
  code_verifier: 'Needed if there was a code_challenge, refused if there was none.',
};

const PostalAddress = object(
  { formatted: string, ...Object.fromEntries(addressParts.map((name) => [name, string])) },
  { optional: addressParts },
);
const Profile = object(profileFields, {
  optional: scopeNames.flatMap((scope) => [...scopeFields[scope]]),
});

const described = {
  tag: 'Sign-on',
  summary: 'A code for the profile, once, for the server of a site.',
  description:
    'Unknown, used, expired and mismatched codes have one answer, invalid_grant. No credentials: whoever has the code gets the profile.',
  answers: {
    200: answer('Fields of the scopes that were asked for and granted.', media(ref('Profile')), {
      'X-SSO-Client': {
        description: 'The client_id that the code was meant for.',
        required: true,
        schema: string,
      },
    }),
  },
  schemas: { PostalAddress, Profile },
} as const;

export const exchangeDocs: Described = {
  ...described,
  id: 'exchange',
  parameters: exchangeParameters.map((name) =>
    query(name, string, parameterWords[name], name === 'code'),
  ),
};

export const exchangeByFormDocs: Described = {
  ...described,
  id: 'exchangeByForm',
  requestBody: {
    required: true,
    content: {
      'application/x-www-form-urlencoded': {
        schema: {
          type: 'object',
          properties: Object.fromEntries(
            exchangeParameters.map((name): [string, JsonMembers] => [
              name,
              { type: 'string', description: parameterWords[name] },
            ]),
          ),
          required: ['code'],
        },
      },
    },
  },
};
