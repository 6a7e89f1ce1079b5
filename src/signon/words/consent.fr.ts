/** French of the pages between a site and a person's profile. */

import { type ConsentCatalogue, lowerFirst } from './consent.en.ts';

const list = new Intl.ListFormat('fr-FR');

export const consentFr: ConsentCatalogue = {
  title: (client) => `Connexion à ${client}`,
  heading: 'souhaite vous connaître',
  lede: 'Il reçoit ce que vous laissez activé, et rien d’autre. Vous pouvez revenir sur votre choix à tout moment.',
  signedInAs: 'Connecté en tant que',
  otherAccount: 'Utiliser un autre compte',
  site: 'Site',
  answerGoesTo: 'La réponse va à',
  inItsLetters: 'Dans son écriture :',
  foreignLetters:
    'Ce nom comporte des lettres autres que a à z. Certaines se ressemblent : comparez la forme qui commence par xn-- à celle que vous attendez.',
  looksLike: (site, known) =>
    `${site} n’est pas ${known} : ce nom lui ressemble seulement. N’autorisez que si vous connaissez le site ${site}.`,
  mailDomain: (domain) =>
    `Le domaine de votre adresse e-mail comporte des lettres autres que a à z. Les sites le reçoivent sous la forme ${domain}.`,
  again: {
    title: 'Demandé à nouveau',
    added: (names) =>
      `${names.length === 1 ? 'Nouveau' : 'Nouveaux'} : ${list.format(names.map(lowerFirst))}.`,
    filled: (fields) => `Sans valeur jusqu’ici : ${fields.join(', ')}.`,
    changed: (fields) => `Modifié depuis votre accord : ${fields.join(', ')}.`,
    rest: 'Le reste est réglé comme vous l’aviez laissé.',
    review: 'Vous avez déjà décidé ; le site vous demande d’y revenir.',
  },
  scopesTitle: 'Ce qu’il pourra lire',
  isNew: 'Nouveau',
  isChanged: 'Modifié',
  changedMeanwhile:
    'Votre profil a été modifié après l’affichage de cette page : rien n’a encore été partagé. Relisez les valeurs actuelles et répondez à nouveau.',
  always: 'Toujours partagé',
  granted: 'Partagé jusqu’ici',
  refused: 'Non partagé jusqu’ici',
  empty: 'vide : non partagé',
  yes: 'oui',
  no: 'non',
  pictureAt: (host) => `une image sur ${host}`,
  plans: { free: 'gratuite', plus: 'plus' },
  years: (age) => (age <= 1 ? `${age} an` : `${age} ans`),
  allow: 'Autoriser',
  refuse: 'Refuser',
  after: 'Dans les deux cas, vous revenez au site.',
  scopes: {
    openid: { name: 'Votre identifiant public', hint: 'Pour que le site vous reconnaisse.' },
    profile: { name: 'Votre nom et votre image', hint: '' },
    email: { name: 'Votre adresse e-mail', hint: '' },
    phone: { name: 'Votre numéro de téléphone', hint: '' },
    address: { name: 'Votre adresse postale', hint: '' },
    age: { name: 'Votre âge', hint: 'Avec la date de naissance complète.' },
    subscription: { name: 'Votre formule', hint: '' },
    preferences: { name: 'Vos préférences', hint: 'L’apparence des pages pour vous.' },
  },
  fields: {
    service_id: 'Identifiant public',
    given_name: 'Prénom',
    family_name: 'Nom',
    nickname: 'Pseudonyme',
    picture: 'Image',
    email: 'Adresse e-mail',
    email_verified: 'Adresse e-mail vérifiée',
    phone_number: 'Numéro de téléphone',
    phone_number_verified: 'Numéro vérifié',
    address: 'Adresse',
    birthdate: 'Date de naissance',
    age: 'Âge',
    age_verified: 'Âge vérifié',
    service_plus: 'Membre plus',
    service_plan: 'Formule',
    liquid_glass: 'Liquid glass',
  },
  refusal: {
    titles: {
      invalid_client_id: 'Nous ne savons pas de quel site il s’agit',
      invalid_redirect_uri: 'Ce site demande une réponse à une adresse qui n’est pas la sienne',
      invalid_request: 'Ce lien est abîmé',
      site_blocked: 'Ce site est bloqué ici',
    },
    texts: {
      invalid_client_id:
        'Celui qui vous envoie n’a pas nommé un site que nous puissions reconnaître : rien n’a été partagé.',
      invalid_redirect_uri:
        'La réponse serait allée à une adresse qui n’appartient pas au site : rien n’a été partagé.',
      invalid_request:
        'Une partie manque, figure deux fois ou peut se lire de deux façons. Rien n’a été partagé.',
      site_blocked:
        'L’exploitant de ce service a bloqué le site qui vous envoie : personne ne peut s’y connecter avec un compte d’ici. Rien n’a été partagé.',
    },
    todoBlocked:
      'Fermez cette page. Votre compte et les autres sites restent comme avant ; ce que vous aviez permis à ce site, il ne peut plus le lire.',
    todo: 'Fermez cette page et recommencez depuis le site lui-même. Si cela se reproduit, prévenez ceux qui le gèrent.',
  },
  named: {
    title: 'Cette connexion ne peut pas continuer',
    texts: {
      invalid_request: 'Le site a fait une demande que nous ne comprenons pas.',
      invalid_scope: 'Le site a demandé quelque chose qui n’existe pas ici.',
      unsupported_response_type: 'Le site a demandé une forme de réponse que nous ne donnons pas.',
      access_denied: 'Le site a été refusé.',
      login_required:
        'Le site veut savoir qui vous êtes sans vous le demander, et vous n’êtes pas connecté.',
      consent_required:
        'Le site veut lire votre profil sans vous le demander, et vous n’avez pas donné votre accord.',
      temporarily_unavailable: 'Rien ne peut être enregistré pour le moment.',
    },
    back: (host) => `Aller à ${host}`,
    warning:
      'Le lien mène au site qui vous a envoyé ici et lui dit ce qui n’a pas marché, sans dire qui vous êtes. Suivez-le seulement si vous connaissez ce site.',
  },
  forDevelopers: 'Pour les développeurs du site',
  verify: {
    title: 'D’abord, vérifiez votre adresse e-mail',
    text: (email) =>
      `Nous avons envoyé un lien à ${email}. Ouvrez-le, puis revenez ici. Avant cela, aucun site ne reçoit rien.`,
    next: 'C’est fait, continuer',
    other: 'Renvoyer le lien',
  },
  over: {
    title: 'Ce formulaire n’est plus valable',
    text: 'Il a déjà reçu une réponse, a attendu plus de dix minutes ou appartient à une autre connexion. Recommencez depuis le site.',
    textWithWay:
      'Il a déjà reçu une réponse, a attendu plus de dix minutes ou appartient à une autre connexion. Il n’a rien transmis. La même demande peut recommencer.',
    next: 'Recommencer',
  },
};
