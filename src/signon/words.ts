/**
 * The sentences of sign-on, English and French: registration, sign-in, recovery and what is wrong, with
 * those of the account pages.
 */

import { wordsOf } from '../web/language.ts';
import {
  accountEn,
  accountFr,
  automationEn,
  automationFr,
  reviewEn,
  reviewFr,
} from './account/words.ts';

const signonEn = {
  email: 'Email',
  password: 'Password',
  newPassword: 'New password',
  passwordHint: 'At least 8 characters. A few unrelated words work well.',
  emailMalformed:
    'This email address doesn’t work here. Use plain letters, digits and signs before the @, and a domain after it.',
  emailDomain: 'Addresses of this domain can’t register here. Ask the operator for an invitation.',
  passwordLength: 'A password has 8 to 256 characters.',
  challengeWrong: 'Wrong or too late. Here is a new challenge.',
  register: {
    title: 'Create an account',
    lede: 'We send a link to your address. Open it, and the account is ready.',
    forSite: 'We send a link to your address. Open it, sign in, and go on to the site.',
    emailHint: 'It stays here unless you share it with a site.',
    byMailOnly:
      'Many accounts were registered from your network today. You choose your password later, through the link in the email.',
    domains: 'Only addresses of some domains can register here.',
    /** Replaces the hint in a form that comes back. */
    passwordKept: 'Your password is kept. Leave this empty, or type another.',
    challengeSolved: 'You already solved the challenge.',
    submit: 'Create an account',
    haveAccount: 'Already have an account?',
    passkey: 'Use a passkey instead',
    passkeyHint: 'Your fingerprint, face or PIN instead of a password.',
  },
  createPasskey: {
    title: 'Create your passkey',
    text: (email: string) =>
      `For ${email}. Your device asks for a fingerprint, face or PIN. Then we send the email.`,
    textByLink: (email: string) => `For ${email}. Your device asks for a fingerprint, face or PIN.`,
    submit: 'Create passkey',
    failed: 'No passkey was created. Try again, or start over with a password.',
    refused: 'The passkey was not accepted, or it took too long. Try again, or choose a password.',
    noScript: 'Passkeys need a browser that runs scripts and knows WebAuthn.',
    startAgain: 'Start again',
  },
  /** A passkey was asked for, and this went wrong. */
  passkeyProofErrors: {
    denied: 'Your device showed no passkey. Try again, or use the device or key that has yours.',
    unfit:
      'This key has no PIN, fingerprint or face to unlock it. Set up a PIN in your device’s settings, or use another key.',
    address:
      'Passkeys don’t work under this address of the service. Open the service under its own address.',
    unreachable: 'The service could not be reached. Check your connection and try again.',
    stale: 'This page is outdated. Reload it.',
    many: 'Too many attempts at once. Try again in a while.',
  },
  outbox: {
    title: 'Emails of this demo',
    lede: 'A demo sends no email. What it would send is kept here.',
    list: 'Emails, newest first',
    empty: 'No emails yet.',
    plain: 'Plain text',
    textMessage: 'Text message',
    to: (address: string) => `To ${address}`,
  },
  checkMail: {
    title: 'Check your inbox',
    demo: 'This is a demo: no email leaves this machine. The terminal shows the link and a page with all emails.',
    registered:
      'We sent an email to this address. Open its link within 24 hours and your account is ready.',
    registeredAt: (email: string) =>
      `We sent a link to ${email}. Open it within 24 hours and your account is ready.`,
    notArrivedAgain: 'Nothing there? Check your spam folder, or send the email again.',
    otherAddress: 'Use another address',
    worksFrom: (time: string) =>
      `Many accounts were registered from your network today. The link works from ${time} on.`,
    choose: 'You choose your password when you open the link.',
    notArrivedChoose: 'Nothing there? Check your spam folder, or register again.',
    recovering:
      'If an account has this address, an email is on its way. Its link works for one hour.',
    signingIn:
      'There were many attempts on this account, so a password isn’t enough right now. If an account has this address, a link is in its inbox or on its way. Open the newest one in this browser within two hours. It signs you in.',
    notArrivedRegister:
      'Nothing there? Check your spam folder. With a password, sign in to send the email again. With a passkey, register again.',
    notArrivedRecover: 'Nothing there? Check your spam folder, and the spelling of the address.',
  },
  unverified: {
    title: 'Confirm your email address',
    text: (email: string) =>
      `We sent a link to ${email}. Open it to confirm the address. Nothing else works before that.`,
    resend: 'Send the email again',
    sentAgain: 'Another email is on its way. Only a few are sent each hour.',
  },
  verify: {
    title: 'Confirm your email address',
    text: 'Press once more to confirm: mail scanners open links, too.',
    otherBrowser:
      'This is another browser, so type the password you chose when you signed up. Not you? Close this page.',
    otherBrowserPasskey:
      'This is another browser, so use the passkey you made, or open the link in the first one. Not you? Close this page.',
    later: (time: string) =>
      `This link works from ${time} on, because many accounts were registered from one network. Keep the email and open it then.`,
    choose:
      'Choose the password of your account. Not you? Close this page, and nobody gets the account.',
    invitedTitle: 'You are invited',
    invited: (email: string) => `Choose a password or a passkey for ${email}.`,
    invitedSubmit: 'Create an account',
    proveSubmit: 'Confirm with the passkey',
    proveFailed:
      'That isn’t the passkey of this registration. Open the link in the browser that registered, or register again.',
    submit: 'Confirm my address',
  },
  confirmEmail: {
    title: 'Confirm your new address',
    text: (from: string, to: string) =>
      `The account of ${from} moves to ${to}. From now on you sign in with it. Your other sessions end.`,
    submit: 'Use this address',
  },
  signIn: {
    title: 'Sign in',
    titleFor: (site: string) => `Sign in to continue to ${site}`,
    forSite: 'You decide next what the site gets.',
    submit: 'Sign in',
    or: 'or',
    passkey: 'Use a passkey',
    passkeyFailed: 'The passkey was not accepted. Try again, or use your password.',
    forgotten: 'Forgot your password?',
    noAccount: 'New here?',
    limited:
      'There were many sign-in attempts. Answer the challenge below with your password. Otherwise you get a link by email.',
    limitedKnown: 'There were many sign-in attempts. Type your password again, or ask for a link.',
    mailLink: 'Email me a link',
    noScript: 'Scripts are off in this browser. Ask for the link, or try again later.',
    done: {
      verified: 'Your address is confirmed. You can now sign in.',
      reset: 'Your password is changed and all sessions have ended. Sign in with the new one.',
      unsaved:
        'Your session had ended, so nothing was saved yet. Sign in, and you come back to the form with what you typed.',
      undone: 'Your session had ended, so nothing was saved. Sign in and try again.',
      renewed:
        'This page’s session was renewed or has ended. If you just confirmed it’s you in another window, reload the page.',
    },
  },
  signInLink: {
    title: 'Sign in with this link',
    text: 'You asked in this browser for a link to sign in. It works once.',
    submit: 'Sign in',
    otherTitle: 'Open the link in the other browser',
    otherText:
      'This link only signs in the browser that asked for it. Copy this page’s address into the other browser and open it there. The link is not used up.',
    otherPlain: 'Didn’t ask for a link? Close this page: nobody can use it without your inbox.',
  },
  secondFactor: {
    title: 'One more step',
    code: 'Code',
    hint: 'Six digits from your authenticator app, or one of your backup codes.',
    trust: 'Trust this browser for 30 days',
    trustHint: 'For your own device only: here, your password alone is then enough.',
    submit: 'Continue',
    startAgain: 'Start again',
    over: 'The second step took more than ten minutes, or was already done. Sign in again.',
  },
  recover: {
    title: 'Forgot your password?',
    lede: 'We send you a link to choose a new one.',
    submit: 'Send the link',
  },
  reset: {
    again: 'Send a new link',
    title: 'Choose a new password',
    lede: 'All sessions end, on all devices. Passkeys and your second factor stay.',
    submit: 'Change password',
  },
  failureTitles: {
    expired: 'This form is no longer valid',
    cookies: 'This service needs a cookie',
    link: 'This link no longer works',
    other: 'We can’t continue',
  },
  /** Back to the page of the form. */
  pageAgain: 'Reload the page',
  gone: {
    title: 'It’s no longer there',
    text: 'It had already been removed, perhaps in another tab. Nothing else was changed.',
  },
  unsaved: {
    kept: 'This is not saved yet: your session had ended, or you confirmed it’s you too long ago. What you typed is back in its form, except passwords and codes. Check it and send it again.',
    nothing: 'Your last change was not saved because the session had ended. Please do it again.',
  },
  /** The sentences by error code. */
  failures: {
    form_expired:
      'You have signed in or out since then, or the page was open too long. Nothing was changed.',
    foreign_form:
      'Your browser says that this form came from another site. Nothing was changed. Open the page here and send the form from there.',
    cookies_required:
      'Your browser sent no cookie of this service, and forms need one. Allow cookies for this site alone, reload the page and try again. Nothing was changed.',
    unknown_transaction:
      'This form was already answered, or was open for too long. Start again from the site you came from.',
    sign_in_refused: 'The email address or the password is wrong.',
    passkey_refused: 'This passkey was not accepted.',
    too_many_attempts: 'There were too many attempts. Wait a moment before the next one.',
    waitFor: (seconds: number) =>
      seconds < 90
        ? `There were too many attempts. Wait ${seconds === 1 ? 'one second' : `${seconds} seconds`} before the next one.`
        : `There were too many attempts. Wait ${Math.ceil(seconds / 60)} minutes before the next one.`,
    invalid_link:
      'This link was already used, has expired, or never existed. If you were invited, ask for a new invitation.',
    invalid_code: 'This code is wrong, already used, or expired.',
    invalid_passkey: 'The new passkey was not accepted. Try again.',
    weak_password:
      'This password is easy to guess. Avoid your address, this service’s name, and a season or month with a year. Choose another one.',
    invalid_parameter: 'Something in the form isn’t right.',
    bad_request: 'The form is damaged. Go back and send it again.',
    unsupported_media_type: 'The form is damaged. Go back and send it again.',
    reauthentication_required: 'Confirm it’s you first.',
    factor_required:
      'The console needs a passkey or an authenticator, and your account has neither. Add one first.',
    review_required:
      'A new password was set by email. Sign in with it and review your account; then your passkeys work again.',
    forbidden: 'This is not allowed.',
    registration_closed: 'The operator of this service creates its accounts. Ask them for one.',
    conflict: 'This conflicts with what is already there.',
    not_found: 'There is nothing at this address.',
    overloaded: 'The service is busy. Try again in a minute.',
    capacity_exceeded: 'The service is full. Try again later.',
    too_many_sites:
      'You have allowed as many sites as an account can. Remove one under Account, Sites, then go back and allow this one. Nothing was passed on.',
    store_unavailable: 'Nothing can be saved right now. Try again in a minute.',
    temporarily_unavailable: 'The service cannot answer right now. Try again in a minute.',
    other: 'Something went wrong. Try again in a while.',
  },
};

const signonFr: typeof signonEn = {
  email: 'E-mail',
  password: 'Mot de passe',
  newPassword: 'Nouveau mot de passe',
  passwordHint: 'Au moins 8 caractères. Quelques mots sans rapport entre eux conviennent bien.',
  emailMalformed:
    'Cette adresse e-mail ne convient pas. Utilisez des lettres sans accent, des chiffres et des signes avant le @, et un domaine après.',
  emailDomain:
    'Les adresses de ce domaine ne peuvent pas s’inscrire ici. Demandez une invitation à l’opérateur.',
  passwordLength: 'Un mot de passe compte de 8 à 256 caractères.',
  challengeWrong: 'Réponse fausse, ou trop tardive. Voici un nouveau défi.',
  register: {
    title: 'Créer un compte',
    lede: 'Nous envoyons un lien à votre adresse. Dès que vous l’ouvrez, le compte est actif.',
    forSite:
      'Nous envoyons un lien à votre adresse. Ouvrez-le, connectez-vous, et vous continuez vers le site.',
    emailHint: 'Votre adresse reste ici, sauf si vous la partagez avec un site.',
    byMailOnly:
      'Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau. Vous choisirez votre mot de passe plus tard, avec le lien de l’e-mail.',
    domains: 'Seules les adresses de certains domaines peuvent s’inscrire ici.',
    passwordKept: 'Vous en avez choisi un. Laissez vide pour le garder, ou saisissez-en un autre.',
    challengeSolved: 'Vous avez déjà résolu le défi.',
    submit: 'Créer un compte',
    haveAccount: 'Vous avez un compte ?',
    passkey: 'Utiliser plutôt une clé d’accès',
    passkeyHint: 'Votre empreinte, votre visage ou un code PIN, au lieu d’un mot de passe.',
  },
  createPasskey: {
    title: 'Créez votre clé d’accès',
    text: (email) =>
      `Pour ${email}. Votre appareil demande une empreinte, un visage ou un code. Ensuite, nous envoyons l’e-mail.`,
    textByLink: (email) =>
      `Pour ${email}. Votre appareil demande une empreinte, un visage ou un code.`,
    submit: 'Créer la clé d’accès',
    failed: 'Aucune clé d’accès n’a été créée. Réessayez, ou recommencez avec un mot de passe.',
    refused:
      'La clé d’accès n’a pas été acceptée, ou cela a pris trop de temps. Réessayez, ou choisissez un mot de passe.',
    noScript:
      'Les clés d’accès demandent un navigateur qui exécute les scripts et connaît WebAuthn.',
    startAgain: 'Recommencer',
  },
  passkeyProofErrors: {
    denied:
      'Votre appareil n’a proposé aucune clé d’accès. Réessayez, ou utilisez l’appareil ou la clé qui contient la vôtre.',
    unfit:
      'Cette clé ne peut pas être déverrouillée : elle n’a ni code, ni empreinte, ni visage. Donnez-lui un code dans les réglages de votre appareil, ou prenez-en une autre.',
    address:
      'Les clés d’accès ne fonctionnent pas sous cette adresse du service. Ouvrez le service sous sa propre adresse.',
    unreachable: 'Le service est injoignable. Vérifiez votre connexion et réessayez.',
    stale: 'Cette page n’est plus à jour. Rechargez-la.',
    many: 'Trop d’essais à la fois. Réessayez dans un moment.',
  },
  outbox: {
    title: 'E-mails de cette démo',
    lede: 'Une démo n’envoie aucun e-mail. Ce qu’elle enverrait est gardé ici.',
    list: 'E-mails, du plus récent au plus ancien',
    empty: 'Aucun e-mail pour l’instant.',
    plain: 'Texte brut',
    textMessage: 'SMS',
    to: (address) => `À ${address}`,
  },
  checkMail: {
    title: 'Consultez votre messagerie',
    demo: 'C’est une démo : aucun e-mail ne part. Le terminal affiche le lien et la page de tous les e-mails.',
    registered:
      'Nous avons envoyé un e-mail à cette adresse. Ouvrez son lien dans les 24 heures, et votre compte est prêt.',
    registeredAt: (email) =>
      `Nous avons envoyé un lien à ${email}. Ouvrez-le dans les 24 heures et votre compte est prêt.`,
    notArrivedAgain: 'Rien reçu ? Regardez dans les indésirables, ou renvoyez l’e-mail.',
    otherAddress: 'Utiliser une autre adresse',
    worksFrom: (time) =>
      `Beaucoup de comptes ont été créés aujourd’hui depuis votre réseau : le lien fonctionne à partir de ${time}.`,
    choose: 'Vous choisissez votre mot de passe en ouvrant le lien.',
    notArrivedChoose: 'Rien reçu ? Regardez dans les indésirables, ou inscrivez-vous à nouveau.',
    recovering:
      'S’il existe un compte à cette adresse, un e-mail est en route. Son lien vaut une heure.',
    signingIn:
      'Il y a eu beaucoup de tentatives sur ce compte : un mot de passe ne suffit pas pour le moment. S’il existe un compte à cette adresse, un lien l’attend ou arrive. Ouvrez le plus récent dans ce navigateur, dans les deux heures : il vous connecte.',
    notArrivedRegister:
      'Rien reçu ? Regardez dans les indésirables. Avec un mot de passe, connectez-vous pour faire renvoyer l’e-mail ; avec une clé d’accès, inscrivez-vous à nouveau.',
    notArrivedRecover: 'Rien reçu ? Regardez dans les indésirables et vérifiez l’adresse saisie.',
  },
  unverified: {
    title: 'Confirmez votre adresse e-mail',
    text: (email) =>
      `Nous avons envoyé un lien à ${email}. Ouvrez-le pour confirmer votre adresse : rien ne fonctionne avant.`,
    resend: 'Renvoyer l’e-mail',
    sentAgain: 'Un autre e-mail est en route. Leur nombre par heure est limité.',
  },
  verify: {
    title: 'Confirmez votre adresse e-mail',
    text: 'Un dernier clic pour confirmer : les antivirus ouvrent aussi les liens des e-mails.',
    otherBrowser:
      'C’est un autre navigateur : saisissez le mot de passe choisi à l’inscription. Ce n’était pas vous ? Fermez cette page.',
    otherBrowserPasskey:
      'C’est un autre navigateur : utilisez la clé d’accès créée, ou ouvrez le lien dans le premier. Ce n’était pas vous ? Fermez cette page.',
    later: (time) =>
      `Ce lien fonctionne à partir de ${time} : beaucoup de comptes ont été créés depuis un même réseau. Gardez l’e-mail et rouvrez le lien à ce moment-là.`,
    choose:
      'Choisissez le mot de passe de votre compte. Ce n’était pas vous ? Fermez cette page, et personne n’aura le compte.',
    invitedTitle: 'Vous êtes invité',
    invited: (email) => `Choisissez un mot de passe ou une clé d’accès pour ${email}.`,
    invitedSubmit: 'Créer un compte',
    proveSubmit: 'Confirmer avec la clé d’accès',
    proveFailed:
      'Ce n’était pas la clé d’accès de cette inscription. Ouvrez le lien dans le navigateur de l’inscription, ou inscrivez-vous à nouveau.',
    submit: 'Confirmer mon adresse',
  },
  confirmEmail: {
    title: 'Confirmez votre nouvelle adresse',
    text: (from, to) =>
      `Le compte de ${from} passe à ${to} : désormais, vous vous connecterez avec cette adresse. Vos autres sessions prennent fin.`,
    submit: 'Utiliser cette adresse',
  },
  signIn: {
    title: 'Se connecter',
    titleFor: (site) => `Connectez-vous pour continuer vers ${site}`,
    forSite: 'Vous choisissez ensuite ce que le site reçoit.',
    submit: 'Se connecter',
    or: 'ou',
    passkey: 'Utiliser une clé d’accès',
    passkeyFailed:
      'La clé d’accès n’a pas été acceptée. Réessayez, ou utilisez votre mot de passe.',
    forgotten: 'Mot de passe oublié ?',
    noAccount: 'Pas encore de compte ?',
    limited:
      'Il y a eu beaucoup d’essais de connexion. Répondez au défi ci-dessous avec votre mot de passe. Sinon, vous recevez un lien par e-mail.',
    limitedKnown:
      'Il y a eu beaucoup d’essais de connexion. Retapez votre mot de passe, ou demandez un lien.',
    mailLink: 'Recevoir un lien par e-mail',
    noScript:
      'Ce navigateur n’exécute pas de scripts. Demandez le lien, ou réessayez dans un moment.',
    done: {
      verified: 'Votre adresse est confirmée. Vous pouvez maintenant vous connecter.',
      renewed:
        'La session de cette page a été renouvelée ou est terminée. Si vous venez de confirmer votre identité dans une autre fenêtre, rechargez la page.',
      unsaved:
        'Votre session était terminée : rien n’est encore enregistré. Connectez-vous pour retrouver le formulaire avec votre saisie.',
      undone:
        'Votre session était terminée : rien n’a été enregistré. Connectez-vous et recommencez.',
      reset:
        'Votre mot de passe est changé et toutes les sessions sont terminées. Connectez-vous avec le nouveau.',
    },
  },
  signInLink: {
    title: 'Se connecter avec ce lien',
    text: 'Vous avez demandé un lien de connexion dans ce navigateur. Il ne sert qu’une fois.',
    submit: 'Se connecter',
    otherTitle: 'Ouvrez le lien dans l’autre navigateur',
    otherText:
      'Ce lien ne connecte que le navigateur qui l’a demandé. Copiez l’adresse de cette page dans l’autre navigateur et ouvrez-la là-bas. Le lien reste utilisable.',
    otherPlain:
      'Vous n’avez rien demandé ? Fermez cette page : sans votre messagerie, personne ne peut utiliser le lien.',
  },
  secondFactor: {
    title: 'Encore une étape',
    code: 'Code',
    hint: 'Six chiffres de votre application d’authentification, ou l’un de vos codes de secours.',
    trust: 'Faire confiance à ce navigateur pendant 30 jours',
    trustHint: 'Sur votre propre appareil seulement : le mot de passe y suffira.',
    submit: 'Continuer',
    startAgain: 'Recommencer',
    over: 'La seconde étape a pris plus de dix minutes, ou a déjà servi. Reconnectez-vous.',
  },
  recover: {
    title: 'Mot de passe oublié ?',
    lede: 'Nous vous envoyons un lien pour en choisir un nouveau.',
    submit: 'Envoyer le lien',
  },
  reset: {
    again: 'Recevoir un nouveau lien',
    title: 'Choisissez un nouveau mot de passe',
    lede: 'Toutes les sessions se ferment, sur tous les appareils. Clés d’accès et second facteur restent.',
    submit: 'Changer le mot de passe',
  },
  failureTitles: {
    expired: 'Ce formulaire n’est plus valable',
    cookies: 'Ce service a besoin d’un cookie',
    link: 'Ce lien ne fonctionne plus',
    other: 'Impossible de continuer',
  },
  pageAgain: 'Recharger la page',
  gone: {
    title: 'Cet élément n’existe plus',
    text: 'Il a déjà été supprimé, peut-être dans un autre onglet. Rien d’autre n’a changé.',
  },
  unsaved: {
    kept: 'Ce n’est pas encore enregistré : la session était terminée, ou votre confirmation trop ancienne. Votre saisie est de nouveau dans le formulaire, sauf mots de passe et codes. Relisez-la et renvoyez-la.',
    nothing:
      'Votre dernière action n’a pas été enregistrée, car la session de la page était terminée. Recommencez-la.',
  },
  failures: {
    form_expired:
      'Vous vous êtes connecté ou déconnecté depuis, ou la page est restée ouverte trop longtemps. Rien n’a changé.',
    foreign_form:
      'Selon votre navigateur, ce formulaire vient d’un autre site. Rien n’a changé. Ouvrez la page ici, puis envoyez le formulaire.',
    cookies_required:
      'Votre navigateur n’a envoyé aucun cookie de ce service, et les formulaires en ont besoin. Autorisez les cookies pour ce seul site, rechargez la page et réessayez. Rien n’a changé.',
    unknown_transaction:
      'Ce formulaire a déjà reçu sa réponse, ou il est resté ouvert trop longtemps. Recommencez depuis le site d’où vous venez.',
    sign_in_refused: 'L’adresse e-mail ou le mot de passe est incorrect.',
    passkey_refused: 'Cette clé d’accès n’a pas été acceptée.',
    too_many_attempts: 'Il y a eu trop d’essais. Patientez un peu avant le prochain.',
    waitFor: (seconds) =>
      seconds < 90
        ? `Il y a eu trop d’essais. Patientez ${seconds} ${seconds < 2 ? 'seconde' : 'secondes'} avant le prochain.`
        : `Il y a eu trop d’essais. Patientez ${Math.ceil(seconds / 60)} minutes avant le prochain.`,
    invalid_link:
      'Ce lien a déjà servi, a expiré ou n’a jamais existé. Si vous avez été invité, demandez une nouvelle invitation.',
    invalid_code: 'Ce code est incorrect, déjà utilisé ou expiré.',
    invalid_passkey: 'La nouvelle clé d’accès n’a pas été acceptée. Réessayez.',
    weak_password:
      'Ce mot de passe est facile à deviner. Évitez votre adresse, le nom de ce service, et une saison ou un mois avec une année. Choisissez-en un autre.',
    invalid_parameter: 'Quelque chose ne va pas dans le formulaire.',
    bad_request: 'Le formulaire est endommagé. Revenez en arrière et renvoyez-le.',
    unsupported_media_type: 'Le formulaire est endommagé. Revenez en arrière et renvoyez-le.',
    reauthentication_required: 'Confirmez d’abord votre identité.',
    factor_required:
      'La console demande une clé d’accès ou une application d’authentification. Votre compte n’a ni l’une ni l’autre. Ajoutez-en d’abord une.',
    review_required:
      'Un nouveau mot de passe a été choisi par e-mail. Connectez-vous avec lui et vérifiez votre compte ; vos clés d’accès fonctionneront de nouveau.',
    forbidden: 'Ce n’est pas permis.',
    registration_closed: 'L’opérateur de ce service crée les comptes. Demandez-lui le vôtre.',
    conflict: 'Cela entre en conflit avec l’existant.',
    not_found: 'Il n’y a rien à cette adresse.',
    overloaded: 'Le service est trop sollicité. Réessayez dans une minute.',
    capacity_exceeded: 'Le service est plein. Réessayez plus tard.',
    too_many_sites:
      'Un compte ne peut pas autoriser plus de sites. Retirez-en un sous Compte, Sites, puis revenez autoriser celui-ci. Rien n’a été transmis.',
    store_unavailable: 'Rien ne peut être enregistré en ce moment. Réessayez dans une minute.',
    temporarily_unavailable:
      'Le service ne peut pas répondre pour l’instant. Réessayez dans une minute.',
    other: 'Une erreur est survenue. Réessayez dans un moment.',
  },
};

export const { translationsFor, frameText } = wordsOf({
  en: { account: accountEn, automation: automationEn, review: reviewEn, signon: signonEn },
  fr: { account: accountFr, automation: automationFr, review: reviewFr, signon: signonFr },
});
export type Translations = ReturnType<typeof translationsFor>;
