/**
 * Text messages: a POST of `{"to","text"}` to the operator's webhook, which hands them to a
 * provider; without one they go to the outbox. Redirects are refused, since they would carry the
 * number and the code to somewhere that nobody configured. Nothing of a message is logged.
 */

import type { Log } from '../../core/log.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Outbox } from '../mail/outbox.ts';

export interface MessageSender {
  /** `overloaded` when the message can't be delivered now. @param to E.164 */
  send(accountId: string, to: string, text: string): Promise<Result<void>>;
}

const timeoutMs = 10_000;

export function webhookMessages(url: string, log: Log): MessageSender {
  return {
    async send(_accountId, to, text) {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ to, text }),
          redirect: 'error',
          signal: AbortSignal.timeout(timeoutMs),
        });
        // The body of the response is not needed, and may be endless.
        await response.body?.cancel();
        if (response.ok) return ok(undefined);
        log.error({ status: response.status }, 'text message: refused by the webhook');
      } catch (error) {
        log.error({ reason: (error as Error).name }, 'text message: the webhook did not answer');
      }
      return fail('overloaded', 'The message could not be sent.');
    },
  };
}

export function outboxMessages(outbox: Outbox): MessageSender {
  return {
    async send(accountId, to, text) {
      await outbox.writeMessage(accountId, to, text);
      return ok(undefined);
    },
  };
}
