/** English sentences of sign-on: registration, sign-in, recovery, and what is wrong. */

export const signonEn = {
  signOut: 'Sign out',
  signedInAs: (email: string) => `Signed in as ${email}`,
  email: 'E-mail address',
  password: 'Password',
  newPassword: 'New password',
  passwordHint: 'At least 8 characters. A few words that do not belong together are a good one.',
  showEmailAgain: 'Use another address',
  failureTitles: {
    expired: 'This form is no longer valid',
    other: 'That did not work',
  },
  /** By error code. */
  failures: {
    form_expired:
      'The form was open for too long, or it came from another page. Nothing was changed. Go back, load the page again and repeat it.',
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
    weak_password: 'This password is easy to guess. Choose another one.',
    invalid_parameter: 'Something in the form is not as it should be.',
    bad_request: 'The form is damaged. Go back and send it again.',
    unsupported_media_type: 'The form is damaged. Go back and send it again.',
    reauthentication_required: 'Please sign in once more before you do this.',
    forbidden: 'This is not allowed.',
    conflict: 'This contradicts what is there already.',
    not_found: 'There is nothing at this address.',
    overloaded: 'There is too much to do at the moment. Try again in a minute.',
    capacity_exceeded: 'The service is full. Try again later.',
    store_unavailable: 'Nothing can be saved at the moment. Try again in a minute.',
    temporarily_unavailable: 'The service cannot answer right now. Try again in a minute.',
    other: 'Something went wrong. Try again in a while.',
  },
};
