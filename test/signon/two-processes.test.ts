/** Two processes on one store: each code has one winner among all of their callers. */

import { test } from 'node:test';
import { lmdbFactory } from '../store/lmdb-factory.ts';
import { raceForCodes } from './code-race.ts';

test('300 codes, six callers each in two processes: 300 profiles', () =>
  raceForCodes(lmdbFactory, 300));
