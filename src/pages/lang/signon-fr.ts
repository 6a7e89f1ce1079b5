/** French sentences of sign-on: registration, sign-in, recovery, and what is wrong. */

import type { signonEn } from './signon-en.ts';

export const signonFr: typeof signonEn = {
  signOut: 'Se déconnecter',
  signedInAs: (email) => `Connecté : ${email}`,
  email: 'Adresse e-mail',
  password: 'Mot de passe',
  newPassword: 'Nouveau mot de passe',
  passwordHint: 'Au moins 8 caractères. Quelques mots sans rapport entre eux conviennent bien.',
  showEmailAgain: 'Utiliser une autre adresse',
  failureTitles: {
    expired: 'Ce formulaire n’est plus valable',
    other: 'Cela n’a pas marché',
  },
  failures: {
    form_expired:
      'Le formulaire est resté ouvert trop longtemps, ou il vient d’une autre page. Rien n’a changé. Revenez en arrière, rechargez la page et recommencez.',
    unknown_transaction:
      'Ce formulaire a déjà reçu sa réponse, ou il est resté ouvert trop longtemps. Recommencez depuis le site d’où vous venez.',
    sign_in_refused: 'L’adresse e-mail ou le mot de passe est faux.',
    too_many_attempts: 'Il y a eu trop d’essais. Patientez un peu avant le prochain.',
    waitFor: (seconds) =>
      seconds < 90
        ? `Il y a eu trop d’essais. Patientez ${seconds} ${seconds < 2 ? 'seconde' : 'secondes'} avant le prochain.`
        : `Il y a eu trop d’essais. Patientez ${Math.ceil(seconds / 60)} minutes avant le prochain.`,
    invalid_link: 'Ce lien a déjà servi, a expiré ou n’a jamais existé.',
    invalid_code: 'Ce code est faux, a déjà servi ou a expiré.',
    weak_password: 'Ce mot de passe est facile à deviner. Choisissez-en un autre.',
    invalid_parameter: 'Quelque chose ne va pas dans le formulaire.',
    bad_request: 'Le formulaire est abîmé. Revenez en arrière et renvoyez-le.',
    unsupported_media_type: 'Le formulaire est abîmé. Revenez en arrière et renvoyez-le.',
    reauthentication_required: 'Identifiez-vous encore une fois avant de faire cela.',
    forbidden: 'Ce n’est pas permis.',
    conflict: 'Cela contredit ce qui existe déjà.',
    not_found: 'Il n’y a rien à cette adresse.',
    overloaded: 'Il y a trop à faire en ce moment. Réessayez dans une minute.',
    capacity_exceeded: 'Le service est plein. Réessayez plus tard.',
    store_unavailable: 'Rien ne peut être enregistré en ce moment. Réessayez dans une minute.',
    temporarily_unavailable:
      'Le service ne peut pas répondre pour l’instant. Réessayez dans une minute.',
    other: 'Quelque chose n’a pas marché. Réessayez dans un moment.',
  },
};
