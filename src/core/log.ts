/**
 * Structured log on standard error (pino). Secrets never reach it: request headers, bodies
 * and query strings are not logged at all, so there is nothing to redact.
 */

import { destination, type Logger, pino } from 'pino';

export type Log = Logger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export function createLog(level: LogLevel): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination(2));
}
