/** English sentences of the review after a reset. Its type is what the other languages must have. */

export const reviewEn = {
  title: 'Look through your account',
  lede: 'You have set a new password by mail. If somebody else had your account, they may have left a way back in. Decide for each thing below. Until you are done, passkeys sign nobody in and nothing else is open.',
  allTitle: 'What opens your account or acts in its name',
  passkeys: 'Passkeys',
  keys: 'API keys',
  siteKeys: 'Site keys for the CAPTCHA',
  sites: 'Connected sites',
  webhooks: 'Webhooks',
  passkeyUnnamed: 'Passkey without a name',
  passkeyFacts: (created: string, used: string) => `Added ${created}, last used ${used}`,
  keyFacts: (created: string) => `Made ${created}. It works with whoever has it.`,
  siteKeyFacts: (created: string, hosts: string) => `Made ${created}, for ${hosts}`,
  siteKeyAnyHost: 'any host',
  siteFacts: (allowed: string, reads: string) => `Allowed ${allowed}. May read: ${reads}`,
  siteReadsNothing: 'nothing',
  otherSites: (count: string) => `${count} more sites, all together`,
  webhookFacts: (created: string, watches: string) => `Made ${created}. It is told of: ${watches}`,
  keep: 'Keep',
  remove: 'Remove',
  undecided: 'Decide whether this stays.',
  failed: 'Nothing was changed yet: something is not decided. What you chose is still there.',
  hint: 'What you remove stops working at once. If in doubt, remove it: each can be set up again.',
  factor:
    'Your second factor stays on. If somebody else may have its backup codes, make new ones under Security afterwards.',
  submit: 'Do as I decided, and go on',
};

export type ReviewCatalogue = typeof reviewEn;
