/** English sentences of sign-on: registration, sign-in, recovery, and what is wrong. */

export const signonEn = {
  email: 'E-mail address',
  password: 'Password',
  newPassword: 'New password',
  passwordHint: 'At least 8 characters. A few words that do not belong together are a good one.',
  emailMalformed:
    'This is not an e-mail address that works here: plain letters, digits and signs before the @, the name of a domain after it.',
  passwordLength: 'A password has 8 to 256 characters.',
  challengeWrong: 'Not right, or too late. Each challenge takes one answer, so here is another.',
  register: {
    title: 'Create an account',
    lede: 'We send a link to your address. Once you have opened it, the account works.',
    forSite:
      'We send a link to your address. Once you have opened it, you sign in and go on to the site.',
    emailHint: 'It stays with us unless you share it with a site yourself.',
    byMailOnly:
      'Many accounts were registered from your network today. That is why you choose your password later, with the link that we send to your address.',
    /** Replaces the hint in a form that comes back. */
    passwordKept: 'You have chosen one. Leave this empty to keep it, or type another.',
    challengeSolved: 'The challenge is solved already.',
    submit: 'Create the account',
    haveAccount: 'You have an account?',
    passkey: 'Use a passkey instead',
    passkeyHint: 'A finger, a face or a PIN of your device in place of a password.',
  },
  createPasskey: {
    title: 'Make your passkey',
    text: (email: string) =>
      `For ${email}. Your device asks for a finger, a face or a PIN; then we send the mail.`,
    submit: 'Make the passkey',
    failed: 'That did not work. Try again, or start again with a password.',
    refused: 'The passkey was not accepted, or it took too long. Try again, or choose a password.',
    noScript: 'Passkeys need a browser that runs scripts and knows WebAuthn.',
    startAgain: 'Start again',
  },
  /** A passkey was asked for, and this went wrong. */
  passkeyProofErrors: {
    denied:
      'Your device showed no passkey: the question was closed or timed out, or it has none for this service. Try again, or take the device or key that has yours.',
    unfit:
      'This key can’t be unlocked: it has no PIN, fingerprint or face. Set up a PIN for it in the settings of your device, or use another one.',
    address:
      'Passkeys don’t work under this address of the service. Open the service under its own address.',
    unreachable: 'The service could not be reached. Check your connection and try again.',
    stale: 'The page is an old one. Load it again.',
    many: 'Too many attempts at once. Try again in a while.',
  },
  outbox: {
    title: 'Mails of this demo',
    lede: 'A demo sends no mail: what it would send is kept here, for this machine alone, the newest first.',
    empty: 'Nothing was sent so far.',
    textMessage: 'Text message',
    to: (address: string) => `To ${address}`,
  },
  checkMail: {
    title: 'Look into your mailbox',
    demo: 'This is a demo, whose mails stay on this machine. Its terminal shows the link, and the address of a page with all mails.',
    registered:
      'We have sent a mail to this address. Open its link within 24 hours and your account is ready.',
    registeredAt: (email: string) =>
      `We sent a link to ${email}. Open it within 24 hours and your account is ready.`,
    notArrivedAgain: 'Nothing there? Look into the spam folder, or have the mail sent again.',
    otherAddress: 'Use another address',
    worksFrom: (time: string) =>
      `Many accounts were registered from your network today, so the link works only from ${time} on.`,
    choose: 'You choose your password when you open the link.',
    notArrivedChoose: 'Nothing there? Look into the spam folder, or register once more.',
    recovering:
      'If there is an account with this address, a mail is under way to it. Its link works for one hour.',
    signingIn:
      'There have been many attempts at this account, so a password does not do for the moment. If there is an account with this address, a link is in its mailbox or under way to it. Open the newest one here, in this browser, within two hours; it signs you in.',
    notArrivedRegister:
      'Nothing there? Look into the spam folder. If you chose a password, sign in with it and you can have the mail sent again; with a passkey, register once more.',
    notArrivedRecover:
      'Nothing there? Look into the spam folder, and check how you wrote the address.',
  },
  unverified: {
    title: 'Confirm your e-mail address',
    text: (email: string) =>
      `We have sent a link to ${email}. Open it to confirm that the address is yours: nothing else works before.`,
    resend: 'Send the mail again',
    sentAgain: 'Another mail is under way. Only a few are sent an hour.',
  },
  /** Replaces the sentences of `unverified`. */
  anew: {
    text: (email: string) =>
      `The addresses of mail domains are written in one way only since an update. Yours is now ${email}. Another account may claim the same one, so sites learn nothing about you until you confirm it: we send a link there.`,
    names: (former: string) =>
      `Until then you sign in with the former spelling, ${former}, or with the id of your account.`,
    resend: 'Send the link',
    other: 'Use another address',
  },
  verify: {
    title: 'Confirm your e-mail address',
    text: 'One more press: it tells us that a person opened the mail, not a program that checks links.',
    otherBrowser:
      'This is not the browser that registered. Type the password that was chosen there. If you have not registered, do nothing: close this page, and nobody gets the account. To have one yourself, register with a password of your own.',
    otherBrowserPasskey:
      'This is not the browser that registered. Prove it with the passkey that was made there, or open the link there. If you have not registered, do nothing: close this page, and nobody gets the account. To have one yourself, register on your own.',
    later: (time: string) =>
      `This link works from ${time} on: many accounts were registered from one network. Keep the mail, and open the link again then.`,
    choose:
      'Choose the password of your account. If you have not registered, do nothing: close this page, and nobody gets the account.',
    proveSubmit: 'Confirm with the passkey',
    proveFailed:
      'That was not the passkey of this registration. Open the link in the browser that registered, or register once more.',
    submit: 'Confirm my address',
  },
  confirmEmail: {
    title: 'Confirm your new address',
    text: (from: string, to: string) =>
      `The account of ${from} moves to ${to}: from now on you sign in with it. Your other sessions end.`,
    submit: 'Use this address',
  },
  signIn: {
    title: 'Sign in',
    forSite: 'Then you decide what the site gets to know.',
    submit: 'Sign in',
    or: 'or',
    passkey: 'Sign in with a passkey',
    passkeyFailed: 'That did not work. Try again, or use your password.',
    forgotten: 'Password forgotten?',
    noAccount: 'New here?',
    limited:
      'There have been many attempts to sign in. Answer the challenge below together with your password. If that does not do, you get a link by mail that signs you in.',
    done: {
      verified:
        'Your address is confirmed. Sign in with the password or the passkey that you have chosen.',
      reset: 'Your password is changed, and all sessions have ended. Sign in with the new one.',
      unsaved:
        'Your session had ended, so nothing was saved yet. Sign in, and you come back to the form with what you typed.',
      undone: 'Your session had ended, so nothing was saved. Sign in, and do it once more.',
      renewed:
        'The session that this page had was renewed or has ended. If you have just shown in another window that it is you, load the page again.',
    },
  },
  signInLink: {
    title: 'Sign in by this link',
    text: 'You asked in this browser for a link to sign in. It works once.',
    submit: 'Sign in',
    otherTitle: 'Open the link in the other browser',
    otherText:
      'This link signs in only the browser that asked for it, and this one did not. Copy the address of this page into the other browser and open it there. The link is not used up.',
    otherPlain:
      'If you did not ask for a link at all, close this page: nobody can use the link without your mailbox.',
  },
  secondFactor: {
    title: 'One more step',
    code: 'Code',
    hint: 'Six digits from your authenticator app, or one of your backup codes.',
    submit: 'Go on',
    startAgain: 'Start again',
    over: 'The second step took longer than ten minutes, or was taken already. Sign in once more.',
  },
  recover: {
    title: 'Password forgotten?',
    lede: 'We send you a link with which you choose a new one.',
    submit: 'Send the link',
  },
  reset: {
    title: 'Choose a new password',
    lede: 'All sessions end, on all devices. Passkeys and your second factor stay as they are.',
    submit: 'Change the password',
  },
  failureTitles: {
    expired: 'This form is no longer valid',
    cookies: 'This service needs a cookie',
    other: 'That did not work',
  },
  /** Back to the page of the form. */
  pageAgain: 'Load the page again',
  unsaved: {
    kept: 'This was not saved yet, because the session of the page had ended, or its proof that it is you was too old. What you typed stands in its form again, passwords and codes aside. Look through it and send it once more.',
    nothing:
      'What you did last was not saved, because the session of the page had ended. Please do it once more.',
  },
  /** The sentences by error code. */
  failures: {
    form_expired:
      'The page is of before you signed in or out, perhaps in another tab, or it was open for too long. Nothing was changed.',
    foreign_form:
      'Your browser says that this form came from another site. Nothing was changed. Open the page here and send the form from there.',
    cookies_required:
      'Your browser sent no cookie of this service, and forms do not work without one. Allow cookies for this site (those of other sites are not needed), load the page again and repeat it. Nothing was changed.',
    unknown_transaction:
      'This form was answered already, or it was open for too long. Start again from the site you came from.',
    sign_in_refused: 'The e-mail address or the password is wrong.',
    too_many_attempts: 'There were too many attempts. Wait a moment before the next one.',
    waitFor: (seconds: number) =>
      seconds < 90
        ? `There were too many attempts. Wait ${seconds === 1 ? 'one second' : `${seconds} seconds`} before the next one.`
        : `There were too many attempts. Wait ${Math.ceil(seconds / 60)} minutes before the next one.`,
    invalid_link: 'This link was used already, has expired, or never existed.',
    invalid_code: 'This code is wrong, was used already, or has expired.',
    weak_password:
      'This password is easy to guess, or it holds the name of this service, your mail address, or a season or month with a year. Choose another one.',
    invalid_parameter: 'Something in the form is not as it should be.',
    bad_request: 'The form is damaged. Go back and send it again.',
    unsupported_media_type: 'The form is damaged. Go back and send it again.',
    reauthentication_required: 'Please sign in once more before you do this.',
    factor_required:
      'The console is for operators with a passkey or an authenticator, and your account has neither. Add one first.',
    review_required:
      'A new password was set by mail. Sign in with it and look through your account; then your passkeys work again.',
    forbidden: 'This is not allowed.',
    registration_closed: 'Accounts are made by the operator of this service. Ask them for one.',
    conflict: 'This contradicts what is there already.',
    not_found: 'There is nothing at this address.',
    overloaded: 'There is too much to do at the moment. Try again in a minute.',
    capacity_exceeded: 'The service is full. Try again later.',
    too_many_sites:
      'You have allowed as many sites as an account can. Remove one under Account, Sites, then go back and allow this one. Nothing was passed on.',
    store_unavailable: 'Nothing can be saved at the moment. Try again in a minute.',
    temporarily_unavailable: 'The service cannot answer right now. Try again in a minute.',
    other: 'Something went wrong. Try again in a while.',
  },
};
