/**
 * Structured log on standard error (pino). Secrets never reach it: request headers, bodies
 * and query strings are not logged at all, so there is nothing to redact.
 */

import { type Logger, pino } from 'pino';
import { createLogWriter } from './log-writer.ts';

export type Log = Logger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const standardError = 2;

export function createLog(level: LogLevel): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return pino(options, createLogWriter(standardError));
}
