/** An account as an argument of a command. */

/** What `--help` says of an account's argument; access/account-names.ts reads it. */
export const accountArgument = 'mail address of the account, or its id';
