/**
 * English and French of the pages between a site and a person's profile: consent, and what stands in its
 * place when there is nothing to agree to. The type of
 * the English ones is what French must have.
 */

import type { ProfileFieldName } from '../people/profile/profile.ts';
import { type AuthorizeError, prompts, stateCharsMax } from './authorize.ts';
import { redirectUriCharsMax } from './redirect-uri.ts';
import { type Scope, scopeNames } from './scopes.ts';

const list = new Intl.ListFormat('en-GB');

/** Returns a name as it stands inside a sentence. */
function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export const consentEn = {
  title: (client: string) => `Sign in to ${client}`,
  heading: 'asks for your profile',
  lede: 'You choose, and can change your mind at any time.',
  callsItself: 'It calls itself',
  unchecked: 'Nobody checked that name: trust the domain.',
  signedInAs: 'Signed in as',
  otherAccount: 'Use another account',
  site: 'Site',
  answerGoesTo: 'The answer goes to',
  inItsLetters: 'In its own letters:',
  foreignLetters:
    'This name has letters beyond a to z. Some of them look like others, so compare the form that begins with xn-- with what you expect.',
  looksLike: (site: string, known: string) =>
    `${site} is not ${known}: it only looks like it. Allow this only if you know the site ${site}.`,
  mailDomain: (domain: string) =>
    `The domain of your email address has letters beyond a to z. Sites get it as ${domain}.`,
  again: {
    title: 'Asked again',
    added: ([first = '', ...others]: readonly string[]) =>
      others.length === 0
        ? `${first} is new.`
        : `${list.format([first, ...others.map(lowerFirst)])} are new.`,
    filled: (fields: readonly string[]) => `There was no value before: ${fields.join(', ')}.`,
    changed: (fields: readonly string[]) => `Changed since you agreed: ${fields.join(', ')}.`,
    rest: 'The rest is set as you left it.',
    review: 'You decided before; the site asks you to review it.',
  },
  scopesTitle: 'What it gets',
  isNew: 'New',
  isChanged: 'Changed',
  changedMeanwhile:
    'Your profile changed after this page was shown, so nothing was shared yet. Check the current values, and answer again.',
  always: 'Always shared',
  granted: 'Shared so far',
  refused: 'Not shared so far',
  empty: 'empty: not shared',
  yes: 'yes',
  no: 'no',
  pictureAt: (host: string) => `a picture at ${host}`,
  plans: { free: 'free', plus: 'plus' } as Record<string, string>,
  years: (age: number) => (age === 1 ? '1 year' : `${age} years`),
  allow: 'Allow',
  refuse: 'Refuse',
  after: 'Either way you go back to the site.',
  scopes: {
    openid: { name: 'Your public id', hint: 'Lets the site recognise you.' },
    profile: { name: 'Your name and picture', hint: '' },
    email: { name: 'Your email address', hint: '' },
    phone: { name: 'Your phone number', hint: '' },
    address: { name: 'Your postal address', hint: '' },
    age: { name: 'Your age', hint: 'With the whole date of birth.' },
    subscription: { name: 'Your plan', hint: '' },
    preferences: { name: 'Your preferences', hint: 'How you like pages to look.' },
  } as Record<Scope, { readonly name: string; readonly hint: string }>,
  fields: {
    service_id: 'Public id',
    given_name: 'First name',
    family_name: 'Family name',
    nickname: 'Nickname',
    picture: 'Picture',
    email: 'Email address',
    email_verified: 'Email address verified',
    phone_number: 'Phone number',
    phone_number_verified: 'Phone number verified',
    address: 'Address',
    birthdate: 'Date of birth',
    age: 'Age',
    age_verified: 'Age verified',
    service_plus: 'Plus member',
    service_plan: 'Plan',
    liquid_glass: 'Liquid glass',
  } satisfies Record<ProfileFieldName, string>,
  refusal: {
    titles: {
      invalid_client_id: 'We can’t tell which site this is',
      invalid_redirect_uri: 'This site’s return address is not its own',
      invalid_request: 'This link is broken',
      site_blocked: 'This site is blocked here',
    } as Record<string, string>,
    texts: {
      invalid_client_id:
        'The link that brought you here names no site that we recognise. Nothing was shared.',
      invalid_redirect_uri:
        'You would have been sent to an address that belongs to someone else. Nothing was shared.',
      invalid_request: 'Part of it is missing, repeated or ambiguous. Nothing was shared.',
      site_blocked:
        'The operator of this service blocked the site that sent you here. Nobody can sign in there with an account of this service. Nothing was shared with it.',
    } as Record<string, string>,
    todoBlocked:
      'Close this page. Your account and other sites are unaffected. This site can no longer read what you had allowed.',
    todo: 'Close this page, and start again from the site itself. If it happens again, tell the people who run it.',
  },
  notOpen: {
    title: 'This site is not open to you',
    text: 'Only members of certain groups may use it. Your account is in none of them. Nothing was shared with the site.',
    todo: 'Ask the operator to let you in, or sign in with another account.',
  },
  named: {
    title: 'This sign-in can’t continue',
    texts: {
      invalid_request: 'We don’t understand the site’s request.',
      invalid_scope: 'The site asked for something that does not exist here.',
      unsupported_response_type:
        'The site asked for a kind of answer that this service doesn’t give.',
      access_denied: 'The site was refused.',
      login_required:
        'The site wants to know who you are without asking, and you are not signed in.',
      consent_required:
        'The site wants to read your profile without asking, and you have not agreed.',
      temporarily_unavailable: 'Nothing can be saved right now.',
    } as Record<AuthorizeError, string>,
    back: (host: string) => `Go to ${host}`,
    warning:
      'The link leads to the site that sent you here and tells it what went wrong, not who you are. Follow it only if you know the site.',
  },
  forDevelopers: 'For the site’s developer',
  /** The sentences by the English detail of a request. A page shows a detail that is missing here as it is. */
  details: {} as Readonly<Record<string, string>>,
  verify: {
    title: 'First, confirm your email address',
    text: (email: string) =>
      `We sent a link to ${email}. Open it, then come back here. No site gets anything before that.`,
    next: 'I confirmed it, continue',
    other: 'Send the link again',
  },
  over: {
    title: 'This form is no longer valid',
    text: 'It was already answered, waited for over ten minutes, or belongs to another sign-in. Start again from the site.',
    textWithWay:
      'It was already answered, waited for over ten minutes, or belongs to another sign-in. It passed nothing on. You can start the same request again.',
    next: 'Start again',
  },
};

export type ConsentCatalogue = typeof consentEn;

const listFr = new Intl.ListFormat('fr-FR');

export const consentFr: ConsentCatalogue = {
  title: (client) => `Connexion à ${client}`,
  heading: 'demande l’accès à votre profil',
  lede: 'Vous choisissez, et pourrez changer d’avis.',
  callsItself: 'Il se donne le nom de',
  unchecked: 'Personne ne l’a vérifié : fiez-vous au domaine.',
  signedInAs: 'Connecté en tant que',
  otherAccount: 'Utiliser un autre compte',
  site: 'Site',
  answerGoesTo: 'La réponse va à',
  inItsLetters: 'Dans son écriture :',
  foreignLetters:
    'Ce nom comporte des lettres autres que a à z. Certaines se ressemblent : comparez la forme qui commence par xn-- à celle que vous attendez.',
  looksLike: (site, known) =>
    `${site} n’est pas ${known} : ce nom lui ressemble seulement. N’autorisez que si vous connaissez le site ${site}.`,
  mailDomain: (domain) =>
    `Le domaine de votre adresse e-mail comporte des lettres autres que a à z. Les sites le reçoivent sous la forme ${domain}.`,
  again: {
    title: 'Demandé à nouveau',
    added: (names) =>
      `${names.length === 1 ? 'Nouveau' : 'Nouveaux'} : ${listFr.format(names.map(lowerFirst))}.`,
    filled: (fields) => `Sans valeur jusqu’ici : ${fields.join(', ')}.`,
    changed: (fields) => `Modifié depuis votre accord : ${fields.join(', ')}.`,
    rest: 'Le reste est réglé comme vous l’aviez laissé.',
    review: 'Vous avez déjà décidé ; le site vous demande d’y revenir.',
  },
  scopesTitle: 'Ce qu’il reçoit',
  isNew: 'Nouveau',
  isChanged: 'Modifié',
  changedMeanwhile:
    'Votre profil a été modifié après l’affichage de cette page : rien n’a encore été partagé. Relisez les valeurs actuelles et répondez à nouveau.',
  always: 'Toujours partagé',
  granted: 'Partagé jusqu’ici',
  refused: 'Non partagé jusqu’ici',
  empty: 'vide : non partagé',
  yes: 'oui',
  no: 'non',
  pictureAt: (host) => `une image sur ${host}`,
  plans: { free: 'gratuite', plus: 'plus' },
  years: (age) => (age <= 1 ? `${age} an` : `${age} ans`),
  allow: 'Autoriser',
  refuse: 'Refuser',
  after: 'Dans les deux cas, vous revenez au site.',
  scopes: {
    openid: { name: 'Votre identifiant public', hint: 'Permet au site de vous reconnaître.' },
    profile: { name: 'Votre nom et votre photo', hint: '' },
    email: { name: 'Votre adresse e-mail', hint: '' },
    phone: { name: 'Votre numéro de téléphone', hint: '' },
    address: { name: 'Votre adresse postale', hint: '' },
    age: { name: 'Votre âge', hint: 'Avec la date de naissance complète.' },
    subscription: { name: 'Votre formule', hint: '' },
    preferences: { name: 'Vos préférences', hint: 'L’apparence que vous préférez.' },
  },
  fields: {
    service_id: 'Identifiant public',
    given_name: 'Prénom',
    family_name: 'Nom de famille',
    nickname: 'Pseudonyme',
    picture: 'Photo',
    email: 'Adresse e-mail',
    email_verified: 'Adresse e-mail vérifiée',
    phone_number: 'Numéro de téléphone',
    phone_number_verified: 'Numéro vérifié',
    address: 'Adresse',
    birthdate: 'Date de naissance',
    age: 'Âge',
    age_verified: 'Âge vérifié',
    service_plus: 'Membre Plus',
    service_plan: 'Formule',
    liquid_glass: 'Verre liquide',
  },
  refusal: {
    titles: {
      invalid_client_id: 'Nous ne savons pas de quel site il s’agit',
      invalid_redirect_uri: 'L’adresse de retour n’appartient pas à ce site',
      invalid_request: 'Ce lien est endommagé',
      site_blocked: 'Ce site est bloqué ici',
    },
    texts: {
      invalid_client_id: 'Le lien qui vous amène ne nomme aucun site connu. Rien n’a été partagé.',
      invalid_redirect_uri:
        'Vous auriez été envoyé vers une adresse qui appartient à quelqu’un d’autre. Rien n’a été partagé.',
      invalid_request:
        'Une partie manque, figure deux fois ou peut se lire de deux façons. Rien n’a été partagé.',
      site_blocked:
        'L’opérateur de ce service a bloqué le site qui vous envoie : personne ne peut s’y connecter avec un compte d’ici. Rien n’a été partagé.',
    },
    todoBlocked:
      'Fermez cette page. Votre compte et les autres sites ne changent pas. Ce site ne peut plus lire ce que vous aviez autorisé.',
    todo: 'Fermez cette page et recommencez depuis le site lui-même. Si cela se reproduit, prévenez ceux qui le gèrent.',
  },
  notOpen: {
    title: 'Ce site ne vous est pas ouvert',
    text: 'Seuls les membres de certains groupes peuvent l’utiliser. Votre compte n’est dans aucun. Rien n’a été partagé avec le site.',
    todo: 'Demandez l’accès à l’opérateur, ou connectez-vous avec un autre compte.',
  },
  named: {
    title: 'Cette connexion ne peut pas continuer',
    texts: {
      invalid_request: 'Le site a fait une demande que nous ne comprenons pas.',
      invalid_scope: 'Le site a demandé quelque chose qui n’existe pas ici.',
      unsupported_response_type:
        'Le site a demandé une forme de réponse que ce service ne donne pas.',
      access_denied: 'L’accès a été refusé au site.',
      login_required:
        'Le site veut savoir qui vous êtes sans vous le demander, et vous n’êtes pas connecté.',
      consent_required:
        'Le site veut lire votre profil sans vous le demander, et vous n’avez pas donné votre accord.',
      temporarily_unavailable: 'Rien ne peut être enregistré pour le moment.',
    },
    back: (host) => `Aller à ${host}`,
    warning:
      'Le lien mène au site qui vous a envoyé ici. Il lui dit ce qui n’a pas marché, pas qui vous êtes. Suivez-le seulement si vous connaissez ce site.',
  },
  forDevelopers: 'Pour le développeur du site',
  details: {
    'The client_id must be the domain of a site.': 'client_id doit être le domaine d’un site.',
    'The redirect_uri is missing.': 'redirect_uri manque.',
    [`The redirect_uri is longer than ${redirectUriCharsMax} characters.`]: `redirect_uri dépasse ${redirectUriCharsMax} caractères.`,
    'The redirect_uri holds a character that it cannot.':
      'redirect_uri contient un caractère interdit.',
    'The redirect_uri is not validly percent-encoded.':
      'redirect_uri contient un encodage % non valable.',
    'The redirect_uri holds a control character.':
      'redirect_uri contient un caractère de contrôle.',
    'The redirect_uri is not an https address on the domain of the client.':
      'redirect_uri n’est pas une adresse https du domaine du client.',
    'The redirect_uri is not an address that every program reads alike.':
      'redirect_uri n’est pas lue de la même façon par tous les programmes.',
    'The redirect_uri already holds a parameter of the answer.':
      'redirect_uri contient déjà un paramètre de la réponse.',
    [`state is longer than ${stateCharsMax} characters`]: `state dépasse ${stateCharsMax} caractères.`,
    'state is not valid text': 'state n’est pas un texte valable.',
    'response_type is missing': 'response_type manque.',
    'response_type must be code': 'response_type doit valoir code.',
    'scope is missing': 'scope manque.',
    [`scope may name: ${scopeNames.join(' ')}`]: `scope peut contenir : ${scopeNames.join(' ')}`,
    'code_challenge is missing': 'code_challenge manque.',
    'code_challenge_method must be S256': 'code_challenge_method doit valoir S256.',
    'code_challenge must be 43 to 128 unreserved characters':
      'code_challenge doit avoir de 43 à 128 caractères non réservés.',
    [`prompt may be ${prompts.join(', ')}`]: `prompt peut valoir ${prompts.join(', ')}.`,
    'prompt=none stands alone': 'prompt=none s’emploie seul.',
    'login_hint is too long or not text': 'login_hint est trop long, ou n’est pas un texte.',
    'there is no sign-in': 'Personne n’est connecté.',
    'the site is not open to the person': 'Le site n’est pas ouvert à cette personne.',
    'the person has to be asked': 'La personne doit donner son accord.',
  },
  verify: {
    title: 'D’abord, confirmez votre adresse e-mail',
    text: (email) =>
      `Nous avons envoyé un lien à ${email}. Ouvrez-le, puis revenez ici. Avant cela, aucun site ne reçoit rien.`,
    next: 'J’ai confirmé, continuer',
    other: 'Renvoyer le lien',
  },
  over: {
    title: 'Ce formulaire n’est plus valable',
    text: 'Il a déjà reçu une réponse, a attendu plus de dix minutes ou appartient à une autre connexion. Recommencez depuis le site.',
    textWithWay:
      'Il a déjà reçu une réponse, a attendu plus de dix minutes ou appartient à une autre connexion. Il n’a rien transmis. Vous pouvez recommencer la même demande.',
    next: 'Recommencer',
  },
};
