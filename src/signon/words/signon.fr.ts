/** French sentences of sign-on: registration, sign-in, recovery, and what is wrong. */

import type { signonEn } from './signon.en.ts';

export const signonFr: typeof signonEn = {
  email: 'Adresse e-mail',
  password: 'Mot de passe',
  newPassword: 'Nouveau mot de passe',
  passwordHint: 'Au moins 8 caractères. Quelques mots sans rapport entre eux conviennent bien.',
  emailMalformed:
    'Cette adresse e-mail ne convient pas : des lettres sans accent, des chiffres et des signes avant le @, le nom d’un domaine après.',
  passwordLength: 'Un mot de passe compte de 8 à 256 caractères.',
  challengeWrong: 'Faux, ou trop tard. Chaque défi n’accepte qu’une réponse : en voici un autre.',
  register: {
    title: 'Créer un compte',
    lede: 'Nous envoyons un lien à votre adresse. Une fois que vous l’avez ouvert, le compte marche.',
    forSite:
      'Nous envoyons un lien à votre adresse. Une fois que vous l’avez ouvert, vous vous connectez et continuez vers le site.',
    emailHint: 'Elle reste chez nous, sauf si vous la partagez vous-même avec un site.',
    byMailOnly:
      'Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau. Vous choisirez donc votre mot de passe plus tard, avec le lien que nous envoyons à votre adresse.',
    passwordKept: 'Vous en avez choisi un. Laissez vide pour le garder, ou saisissez-en un autre.',
    challengeSolved: 'Le défi est déjà résolu.',
    submit: 'Créer le compte',
    haveAccount: 'Vous avez un compte ?',
    passkey: 'Utiliser plutôt une clé d’accès',
    passkeyHint: 'Un doigt, un visage ou un code de votre appareil, au lieu d’un mot de passe.',
  },
  createPasskey: {
    title: 'Créez votre clé d’accès',
    text: (email) =>
      `Pour ${email}. Votre appareil demande un doigt, un visage ou un code ; ensuite, nous envoyons le message.`,
    submit: 'Créer la clé d’accès',
    failed: 'Cela n’a pas marché. Réessayez, ou recommencez avec un mot de passe.',
    refused:
      'La clé d’accès n’a pas été acceptée, ou cela a pris trop de temps. Réessayez, ou choisissez un mot de passe.',
    noScript:
      'Les clés d’accès demandent un navigateur qui exécute les scripts et connaît WebAuthn.',
    startAgain: 'Recommencer',
  },
  passkeyProofErrors: {
    denied:
      'Votre appareil n’a montré aucune clé d’accès : la demande a été fermée, cela a pris trop de temps, ou il n’en a pas pour ce service. Réessayez, ou prenez l’appareil ou la clé qui a la vôtre.',
    unfit:
      'Cette clé ne peut pas être déverrouillée : elle n’a ni code, ni empreinte, ni visage. Donnez-lui un code dans les réglages de votre appareil, ou prenez-en une autre.',
    address:
      'Les clés d’accès ne marchent pas sous cette adresse du service. Ouvrez le service sous sa propre adresse.',
    unreachable: 'Le service est injoignable. Vérifiez votre connexion et réessayez.',
    stale: 'La page est ancienne. Rechargez-la.',
    many: 'Trop d’essais à la fois. Réessayez dans un moment.',
  },
  outbox: {
    title: 'Courriels de cette démo',
    lede: 'Une démo n’envoie aucun courriel : ce qu’elle enverrait est gardé ici, pour cette machine seule, le plus récent en premier.',
    empty: 'Rien n’a encore été envoyé.',
    textMessage: 'SMS',
    to: (address) => `À ${address}`,
  },
  checkMail: {
    title: 'Regardez votre courrier',
    demo: 'Ceci est une démo, dont les courriels restent sur cette machine. Son terminal montre le lien, et l’adresse d’une page avec tous les courriels.',
    registered:
      'Nous avons envoyé un message à cette adresse. Ouvrez son lien dans les 24 heures et votre compte est prêt.',
    registeredAt: (email) =>
      `Nous avons envoyé un lien à ${email}. Ouvrez-le dans les 24 heures et votre compte est prêt.`,
    notArrivedAgain: 'Rien ? Regardez dans les indésirables, ou faites renvoyer le message.',
    otherAddress: 'Utiliser une autre adresse',
    worksFrom: (time) =>
      `Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau : le lien ne marche qu’à partir de ${time}.`,
    choose: 'Vous choisissez votre mot de passe en ouvrant le lien.',
    notArrivedChoose: 'Rien ? Regardez dans les indésirables, ou inscrivez-vous à nouveau.',
    recovering:
      'S’il existe un compte à cette adresse, un message est en route. Son lien marche pendant une heure.',
    signingIn:
      'Il y a eu beaucoup d’essais sur ce compte : pour le moment, un mot de passe ne suffit pas. S’il existe un compte à cette adresse, un lien se trouve dans sa boîte ou est en route. Ouvrez le plus récent ici, dans ce navigateur, dans les deux heures ; il vous connecte.',
    notArrivedRegister:
      'Rien ? Regardez dans les indésirables. Si vous avez choisi un mot de passe, connectez-vous avec lui pour redemander le message ; avec une clé d’accès, inscrivez-vous à nouveau.',
    notArrivedRecover: 'Rien ? Regardez dans les indésirables et vérifiez l’adresse saisie.',
  },
  unverified: {
    title: 'Confirmez votre adresse e-mail',
    text: (email) =>
      `Nous avons envoyé un lien à ${email}. Ouvrez-le pour confirmer que l’adresse est à vous : rien d’autre ne marche avant.`,
    resend: 'Renvoyer le message',
    sentAgain: 'Un autre message est en route. Seuls quelques-uns partent par heure.',
  },
  anew: {
    text: (email) =>
      `Depuis une mise à jour, les domaines des adresses s’écrivent d’une seule manière. La vôtre est maintenant ${email}. Un autre compte peut réclamer la même : les sites n’apprennent donc rien de vous avant que vous la confirmiez. Nous y envoyons un lien.`,
    names: (former) =>
      `D’ici là, vous vous connectez avec l’ancienne écriture, ${former}, ou avec l’identifiant de votre compte.`,
    resend: 'Envoyer le lien',
    other: 'Utiliser une autre adresse',
  },
  verify: {
    title: 'Confirmez votre adresse e-mail',
    text: 'Encore un clic : il nous dit qu’une personne a ouvert le message, et non un programme qui vérifie les liens.',
    otherBrowser:
      'Ce n’est pas le navigateur de l’inscription. Saisissez le mot de passe choisi là-bas. Si vous ne vous êtes pas inscrit, ne faites rien : fermez cette page, et personne n’aura le compte. Pour en avoir un, inscrivez-vous avec votre propre mot de passe.',
    otherBrowserPasskey:
      'Ce n’est pas le navigateur de l’inscription. Prouvez-la avec la clé d’accès créée là-bas, ou ouvrez-y le lien. Si vous ne vous êtes pas inscrit, ne faites rien : fermez cette page, et personne n’aura le compte. Pour en avoir un, inscrivez-vous vous-même.',
    later: (time) =>
      `Ce lien marche à partir de ${time} : beaucoup de comptes ont été créés depuis un même réseau. Gardez le message et rouvrez le lien à ce moment-là.`,
    choose:
      'Choisissez le mot de passe de votre compte. Si vous ne vous êtes pas inscrit, ne faites rien : fermez cette page, et personne n’aura le compte.',
    proveSubmit: 'Confirmer avec la clé d’accès',
    proveFailed:
      'Ce n’était pas la clé d’accès de cette inscription. Ouvrez le lien dans le navigateur de l’inscription, ou inscrivez-vous à nouveau.',
    submit: 'Confirmer mon adresse',
  },
  confirmEmail: {
    title: 'Confirmez votre nouvelle adresse',
    text: (from, to) =>
      `Le compte de ${from} passe à ${to} : désormais, vous vous connecterez avec cette adresse. Vos autres sessions prennent fin.`,
    submit: 'Utiliser cette adresse',
  },
  signIn: {
    title: 'Se connecter',
    forSite: 'Vous décidez ensuite de ce que le site apprendra.',
    submit: 'Se connecter',
    or: 'ou',
    passkey: 'Se connecter avec une clé d’accès',
    passkeyFailed: 'Cela n’a pas marché. Réessayez, ou utilisez votre mot de passe.',
    forgotten: 'Mot de passe oublié ?',
    noAccount: 'Nouveau ici ?',
    limited:
      'Il y a eu beaucoup d’essais de connexion. Répondez à l’épreuve ci-dessous en redonnant votre mot de passe. Si cela ne suffit pas, vous recevez par e-mail un lien qui vous connecte.',
    done: {
      verified:
        'Votre adresse est confirmée. Connectez-vous avec le mot de passe ou la clé d’accès que vous avez choisis.',
      renewed:
        'La session de cette page a été renouvelée ou est terminée. Si vous venez de confirmer votre identité dans une autre fenêtre, rechargez la page.',
      unsaved:
        'Votre session était terminée : rien n’est encore enregistré. Connectez-vous, et vous retrouvez le formulaire avec ce que vous avez tapé.',
      undone:
        'Votre session était terminée : rien n’a été enregistré. Connectez-vous et recommencez.',
      reset:
        'Votre mot de passe est changé et toutes les sessions sont terminées. Connectez-vous avec le nouveau.',
    },
  },
  signInLink: {
    title: 'Se connecter par ce lien',
    text: 'Vous avez demandé dans ce navigateur un lien de connexion. Il fonctionne une seule fois.',
    submit: 'Se connecter',
    otherTitle: 'Ouvrez le lien dans l’autre navigateur',
    otherText:
      'Ce lien ne connecte que le navigateur qui l’a demandé, et ce n’est pas celui-ci. Copiez l’adresse de cette page dans l’autre navigateur et ouvrez-la là-bas. Le lien reste utilisable.',
    otherPlain:
      'Si vous n’avez demandé aucun lien, fermez cette page : personne ne peut utiliser le lien sans votre boîte aux lettres.',
  },
  secondFactor: {
    title: 'Encore une étape',
    code: 'Code',
    hint: 'Six chiffres de votre application d’authentification, ou l’un de vos codes de secours.',
    submit: 'Continuer',
    startAgain: 'Recommencer',
    over: 'La seconde étape a pris plus de dix minutes, ou a déjà servi. Connectez-vous encore une fois.',
  },
  recover: {
    title: 'Mot de passe oublié ?',
    lede: 'Nous vous envoyons un lien pour en choisir un nouveau.',
    submit: 'Envoyer le lien',
  },
  reset: {
    title: 'Choisissez un nouveau mot de passe',
    lede: 'Toutes les sessions se terminent, sur tous les appareils. Clés d’accès et second facteur restent comme ils sont.',
    submit: 'Changer le mot de passe',
  },
  failureTitles: {
    expired: 'Ce formulaire n’est plus valable',
    cookies: 'Ce service a besoin d’un cookie',
    other: 'Cela n’a pas marché',
  },
  pageAgain: 'Recharger la page',
  unsaved: {
    kept: 'Ceci n’est pas encore enregistré, car la session de la page était terminée, ou la preuve que c’est bien vous était trop ancienne. Ce que vous avez tapé est de nouveau dans son formulaire, sauf mots de passe et codes. Relisez-le et envoyez-le encore une fois.',
    nothing:
      'Votre dernière action n’a pas été enregistrée, car la session de la page était terminée. Recommencez-la.',
  },
  failures: {
    form_expired:
      'La page date d’avant votre connexion ou déconnexion, peut-être dans un autre onglet, ou elle est restée ouverte trop longtemps. Rien n’a changé.',
    foreign_form:
      'Votre navigateur dit que ce formulaire vient d’un autre site. Rien n’a changé. Ouvrez la page ici et envoyez le formulaire de là.',
    cookies_required:
      'Votre navigateur n’a envoyé aucun cookie de ce service, et les formulaires ne marchent pas sans lui. Autorisez les cookies pour ce site (ceux d’autres sites sont inutiles), rechargez la page et recommencez. Rien n’a changé.',
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
    weak_password:
      'Ce mot de passe est facile à deviner, ou contient le nom de ce service, votre adresse e-mail, ou une saison ou un mois avec une année. Choisissez-en un autre.',
    invalid_parameter: 'Quelque chose ne va pas dans le formulaire.',
    bad_request: 'Le formulaire est abîmé. Revenez en arrière et renvoyez-le.',
    unsupported_media_type: 'Le formulaire est abîmé. Revenez en arrière et renvoyez-le.',
    reauthentication_required: 'Identifiez-vous encore une fois avant de faire cela.',
    factor_required:
      'La console est réservée aux exploitants qui ont une clé d’accès ou une application d’authentification, et votre compte n’a ni l’une ni l’autre. Ajoutez-en d’abord une.',
    review_required:
      'Un nouveau mot de passe a été choisi par e-mail. Connectez-vous avec lui et passez votre compte en revue ; vos clés d’accès serviront ensuite de nouveau.',
    forbidden: 'Ce n’est pas permis.',
    registration_closed:
      'Les comptes sont créés par l’exploitant de ce service. Demandez-lui-en un.',
    conflict: 'Cela contredit ce qui existe déjà.',
    not_found: 'Il n’y a rien à cette adresse.',
    overloaded: 'Il y a trop à faire en ce moment. Réessayez dans une minute.',
    capacity_exceeded: 'Le service est plein. Réessayez plus tard.',
    too_many_sites:
      'Vous avez autorisé autant de sites qu’un compte le peut. Retirez-en un sous Compte, Sites, puis revenez et autorisez celui-ci. Rien n’a été transmis.',
    store_unavailable: 'Rien ne peut être enregistré en ce moment. Réessayez dans une minute.',
    temporarily_unavailable:
      'Le service ne peut pas répondre pour l’instant. Réessayez dans une minute.',
    other: 'Quelque chose n’a pas marché. Réessayez dans un moment.',
  },
};
