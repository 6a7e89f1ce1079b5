/**
 * Every error of the service in one table: its code, its status on the wire, and the sentence that a
 * person reads when the failure itself says nothing better. OpenAPI takes the statuses from it,
 * and docs/ERRORS.md lists it.
 */

import type { Language } from './language.ts';

interface ErrorRow {
  /** HTTP status (RFC 9110, 15). */
  readonly status: number;
  readonly en: string;
  readonly fr: string;
}

/** The text that known clients look for. */
export const unauthenticatedDetail =
  'Authentication failed. Your API key is either missing, incorrect, or revoked.';

/** Returns the detail for a valid key without this scope. */
export function wrongScopeDetail(scope: string): string {
  return `This API key lacks the scope '${scope}', which is needed here.`;
}

/** Begins every answer to a report that is repeated within 15 minutes. Clients match these words. */
export const duplicateWords = 'You can only report the same IP address';

const ours = {
  status: 500,
  en: 'Something went wrong on our side.',
  fr: 'Quelque chose n’a pas marché chez nous.',
} as const;

export const errors = {
  // of the request
  not_found: {
    status: 404,
    en: 'There is nothing at this address.',
    fr: 'Il n’y a rien à cette adresse.',
  },
  method_not_allowed: {
    status: 405,
    en: 'This address does not take that method.',
    fr: 'Cette adresse n’accepte pas cette méthode.',
  },
  bad_request: { status: 400, en: 'The request is malformed.', fr: 'La requête est mal formée.' },
  body_too_large: {
    status: 413,
    en: 'The request body is too large.',
    fr: 'Le corps de la requête est trop grand.',
  },
  body_timeout: {
    status: 408,
    en: 'The request took too long to arrive.',
    fr: 'La requête a mis trop de temps à arriver.',
  },
  length_required: {
    status: 411,
    en: 'The body needs a Content-Length; a chunked body is not taken here.',
    fr: 'Le corps a besoin d’un Content-Length ; un corps en morceaux n’est pas accepté ici.',
  },
  unsupported_media_type: {
    status: 415,
    en: 'The body has a media type that is not understood here.',
    fr: 'Le type de média du corps n’est pas compris ici.',
  },
  invalid_parameter: {
    status: 422,
    en: 'A parameter is invalid.',
    fr: 'Un paramètre n’est pas valable.',
  },
  invalid_prefix: {
    status: 400,
    en: 'This is not an address or a network in CIDR notation.',
    fr: 'Ce n’est ni une adresse ni un réseau en notation CIDR.',
  },
  prefix_host_bits: {
    status: 400,
    en: 'The network has bits set beyond its length.',
    fr: 'Le réseau a des bits au-delà de sa longueur.',
  },
  invalid_range: {
    status: 400,
    en: 'This is not a range of addresses.',
    fr: 'Ce n’est pas une plage d’adresses.',
  },
  network_too_large: {
    status: 402,
    en: 'The network is too large to be checked at once.',
    fr: 'Le réseau est trop grand pour être examiné d’un coup.',
  },
  // of who asks, and how often
  unauthenticated: {
    status: 401,
    en: unauthenticatedDetail,
    fr: 'Authentification refusée. Votre clé d’API manque, est fausse ou a été révoquée.',
  },
  wrong_scope: {
    status: 403,
    en: 'This API key lacks the scope that is needed here.',
    fr: 'Cette clé d’API n’a pas la portée nécessaire ici.',
  },
  forbidden: { status: 403, en: 'This is not allowed.', fr: 'Ce n’est pas permis.' },
  registration_closed: {
    status: 403,
    en: 'Accounts are made by the operator of this service.',
    fr: 'Les comptes sont créés par l’opérateur de ce service.',
  },
  quota_exceeded: {
    status: 429,
    en: 'The rate limit of this API key is exceeded.',
    fr: 'La limite de cette clé d’API est dépassée.',
  },
  address_quota_exceeded: {
    status: 429,
    en: 'The daily limit of new addresses is exceeded.',
    fr: 'La limite quotidienne de nouvelles adresses est dépassée.',
  },
  duplicate_report: {
    status: 429,
    en: `${duplicateWords} once in 15 minutes.`,
    fr: 'Une même adresse IP ne peut être signalée qu’une fois en 15 minutes.',
  },
  client_limit_exceeded: {
    status: 429,
    en: 'There were too many requests from your address.',
    fr: 'Trop de requêtes sont venues de votre adresse.',
  },
  // of a sign-on request; most as RFC 6749 and OpenID Connect name them on the wire
  invalid_client_id: {
    status: 400,
    en: 'The client_id is not the domain of a site.',
    fr: 'Le client_id n’est pas le domaine d’un site.',
  },
  invalid_redirect_uri: {
    status: 400,
    en: 'The redirect_uri is not on the domain of the site.',
    fr: 'Le redirect_uri n’est pas sur le domaine du site.',
  },
  unknown_transaction: {
    status: 403,
    en: 'This form is no longer valid. Please start again from the site.',
    fr: 'Ce formulaire n’est plus valable. Recommencez depuis le site.',
  },
  invalid_request: {
    status: 400,
    en: 'A parameter is missing, repeated or malformed.',
    fr: 'Un paramètre manque, est répété ou mal formé.',
  },
  invalid_scope: {
    status: 400,
    en: 'The scope names something that is not offered.',
    fr: 'Le scope nomme quelque chose qui n’est pas proposé.',
  },
  unsupported_response_type: {
    status: 400,
    en: 'The response_type must be code.',
    fr: 'Le response_type doit être code.',
  },
  invalid_grant: {
    status: 400,
    en: 'The code is unknown, used or expired.',
    fr: 'Le code est inconnu, a servi ou a expiré.',
  },
  access_denied: { status: 403, en: 'The sign-on was refused.', fr: 'La connexion a été refusée.' },
  login_required: { status: 400, en: 'There is no sign-in.', fr: 'Personne n’est connecté.' },
  consent_required: {
    status: 400,
    en: 'There is no consent yet.',
    fr: 'Il n’y a pas encore de consentement.',
  },
  temporarily_unavailable: {
    status: 503,
    en: 'The service is not available at the moment. Please try again later.',
    fr: 'Le service ne peut pas répondre pour l’instant. Réessayez plus tard.',
  },
  // of a person’s own pages
  form_expired: {
    status: 403,
    en: 'This form is no longer valid. Load the page again.',
    fr: 'Ce formulaire n’est plus valable. Rechargez la page.',
  },
  foreign_form: {
    status: 403,
    en: 'This form came from another site. Open the page here and send it from there.',
    fr: 'Ce formulaire vient d’un autre site. Ouvrez la page ici et envoyez-le de là.',
  },
  cookies_required: {
    status: 403,
    en: 'The browser sent no cookie of this service, and forms need one. Allow its cookies.',
    fr: 'Le navigateur n’a envoyé aucun cookie de ce service, et les formulaires en ont besoin. Autorisez-les.',
  },
  sign_in_refused: {
    status: 401,
    en: 'The email address or the password is wrong.',
    fr: 'L’adresse e-mail ou le mot de passe est incorrect.',
  },
  passkey_refused: {
    status: 401,
    en: 'This passkey was not accepted.',
    fr: 'Cette clé d’accès n’a pas été acceptée.',
  },
  too_many_attempts: {
    status: 429,
    en: 'There were too many attempts. Please wait before the next one.',
    fr: 'Il y a eu trop d’essais. Patientez avant le prochain.',
  },
  invalid_link: {
    status: 400,
    en: 'This link was used already, has expired, or never existed.',
    fr: 'Ce lien a déjà servi, a expiré ou n’a jamais existé.',
  },
  invalid_code: {
    status: 422,
    en: 'This code is wrong, was used already, or has expired.',
    fr: 'Ce code est faux, a déjà servi ou a expiré.',
  },
  invalid_passkey: {
    status: 422,
    en: 'The new passkey was not accepted. Try again.',
    fr: 'La nouvelle clé d’accès n’a pas été acceptée. Réessayez.',
  },
  weak_password: {
    status: 422,
    en: 'This password is easy to guess.',
    fr: 'Ce mot de passe est facile à deviner.',
  },
  picture_not_still: {
    status: 422,
    en: 'Only a still picture is taken, with nothing behind it in its file.',
    fr: 'Seule une image fixe est acceptée, sans rien derrière elle dans son fichier.',
  },
  review_required: {
    status: 403,
    en: 'A new password was set by email: sign in with it and review the account first.',
    fr: 'Un nouveau mot de passe a été choisi par message : connectez-vous avec lui et passez d’abord le compte en revue.',
  },
  factor_required: {
    status: 403,
    en: 'An operator needs a passkey or an authenticator. Add one under Account, Security.',
    fr: 'Un opérateur a besoin d’une clé d’accès ou d’une application d’authentification. Ajoutez-en une sous Compte, Sécurité.',
  },
  reauthentication_required: {
    status: 403,
    en: 'Please sign in once more before you do this.',
    fr: 'Identifiez-vous encore une fois avant de faire cela.',
  },
  too_many_sites: {
    status: 409,
    en: 'Your account has allowed as many sites as it can. Remove one first.',
    fr: 'Votre compte a autorisé autant de sites que possible. Retirez-en un d’abord.',
  },
  // of what is there
  unknown_account: { status: 404, en: 'There is no such account.', fr: 'Ce compte n’existe pas.' },
  unknown_key: { status: 404, en: 'There is no such key.', fr: 'Cette clé n’existe pas.' },
  conflict: {
    status: 409,
    en: 'This contradicts what is there already.',
    fr: 'Cela contredit ce qui existe déjà.',
  },
  // of the service
  capacity_exceeded: { status: 503, en: 'The service is full.', fr: 'Le service est plein.' },
  store_unavailable: {
    status: 503,
    en: 'Nothing can be saved at the moment. Please try again later.',
    fr: 'Rien ne peut être enregistré en ce moment. Réessayez plus tard.',
  },
  deadline_exceeded: {
    status: 503,
    en: 'The answer took too long.',
    fr: 'La réponse a pris trop de temps.',
  },
  overloaded: {
    status: 503,
    en: 'The service is too busy. Please try again later.',
    fr: 'Le service est trop occupé. Réessayez plus tard.',
  },
  geo_source_unusable: ours,
  snapshot_unusable: ours,
  snapshot_not_written: ours,
  internal: ours,
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof errors;

export function statusOf(code: ErrorCode): number {
  return errors[code].status;
}

/** Returns the sentence for people. */
export function sentenceFor(code: ErrorCode, language: Language): string {
  return errors[code][language];
}

/** Returns the sentence in English, as the API and the transport say it. */
export function detailOf(code: ErrorCode): string {
  return errors[code].en;
}

/** A failure that ends the process or a command, with one line for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/**
 * Returns what an operator reads where the system refused memory, address space or a thread; undefined for any
 * other error.
 */
export function memoryFault(error: unknown): OperatorError | undefined {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  if (code === 'ERR_WORKER_INIT_FAILED') {
    return new OperatorError(
      `this process may start no more threads (ulimit -u, TasksMax, pids.max): ${message}`,
    );
  }
  const isRefused =
    code === 'ERR_WORKER_OUT_OF_MEMORY' ||
    (error instanceof RangeError && /allocation failed|out of memory/i.test(message));
  if (!isRefused) return undefined;
  return new OperatorError(
    `this process gets too little memory or address space (ulimit -v, RLIMIT_AS): ${message}`,
  );
}
