/** Challenges of this server and, with other nodes, of all of them; receipts for the sites that show them. */

import { deriveKey } from '../../access/keys/master-key.ts';
import { allowsHost, type SiteKeys } from '../../access/keys/site-keys.ts';
import { openCaptcha } from '../../captcha/challenge/open-captcha.ts';
import { createReceipts, receiptKeyPurpose } from '../../captcha/receipt/receipts.ts';
import { captchaBounds } from '../../config.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Data } from './data.ts';
import type { Opening } from './dependencies.ts';
import { openPeers } from './peers.ts';

export async function openCaptchaParts(
  opening: Opening,
  data: Pick<Data, 'store' | 'member'> & { readonly tables: Pick<BoundedTables, 'add'> },
  siteKeys: SiteKeys,
) {
  const { config, clock, random, log, masterKey, closers, timings } = opening;
  const receipts = createReceipts({
    store: data.store,
    clock,
    random,
    signingKey: deriveKey(masterKey, receiptKeyPurpose),
    site: siteKeys.find,
    allows: allowsHost,
    sitesOf: siteKeys.ofAccount,
  });
  const captcha = openCaptcha({
    clock,
    random,
    log,
    threads: config.captchaThreads,
    node: data.member?.id ?? 0,
    bounds: captchaBounds,
    sharesOn: config.clientLimitsOn,
    onRendered: (ms) => timings.recorder(config.httpThreads)('render', ms),
  });
  closers.add(() => captcha.close());
  const peers = await openPeers(opening, captcha.challenges, data);
  return {
    captcha /** Challenges of all nodes: those of others are asked for over the internal port. */,
    peers,
    receipts,
  };
}

export type CaptchaParts = Awaited<ReturnType<typeof openCaptchaParts>>;
