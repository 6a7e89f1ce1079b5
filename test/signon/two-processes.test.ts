/** Two processes on one store: each code has one winner among all of their callers. */

import { test } from 'node:test';
import { lmdbFactory } from '../store/lmdb-factory.ts';
import { codesInAll, raceForCodes } from './code-race.ts';

test(`${codesInAll} codes, six callers each in two processes: ${codesInAll} profiles`, () =>
  raceForCodes(lmdbFactory));
