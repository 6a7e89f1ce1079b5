/** An account as an argument of a command. */

/** `--help` describes an account's argument so; access/account-names.ts reads the value. */
export const accountArgument = 'mail address of the account, or its id';
