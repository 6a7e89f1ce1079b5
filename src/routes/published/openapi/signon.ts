/** The exchange of a code for a profile. The pages of sign-on are HTML and not described here. */

import { type Scope, scopeFields, scopeNames } from '../../../signon/scopes.ts';
import { exchangeErrors, exchangePath } from '../../problem.ts';
import { type ExchangeParameter, exchangeParameters } from '../../profile-exchange.ts';
import {
  type Area,
  answer,
  boolean,
  count,
  families,
  type JsonObject,
  media,
  object,
  operation,
  query,
  ref,
  type Schema,
  string,
} from './parts.ts';

type Field = (typeof scopeFields)[Scope][number];

const addressParts = ['street_address', 'locality', 'region', 'postal_code', 'country'] as const;

/** Type and meaning of each field of the profile. A new field doesn't compile before it is here. */
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

const outline = {
  tag: 'Sign-on',
  family: families.exchange,
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
} as const;

export const signOn: Area = {
  schemas: {
    SignOnError: object({ error: { enum: [...exchangeErrors] }, error_description: string }),
    PostalAddress: object(
      { formatted: string, ...Object.fromEntries(addressParts.map((name) => [name, string])) },
      { optional: addressParts },
    ),
    Profile: object(profileFields, {
      optional: scopeNames.flatMap((scope) => [...scopeFields[scope]]),
    }),
  },
  paths: {
    [exchangePath]: {
      get: operation({
        ...outline,
        id: 'exchange',
        parameters: exchangeParameters.map((name) =>
          query(name, string, parameterWords[name], name === 'code'),
        ),
      }),
      post: operation({
        ...outline,
        id: 'exchangeByForm',
        body: {
          required: true,
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                properties: Object.fromEntries(
                  exchangeParameters.map((name): [string, JsonObject] => [
                    name,
                    { type: 'string', description: parameterWords[name] },
                  ]),
                ),
                required: ['code'],
              },
            },
          },
        },
      }),
    },
  },
};
