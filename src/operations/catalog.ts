/** All operations by their names: what a file of `acts/` exports stands here by itself. */

import type * as v from 'valibot';
import * as accounts from './acts/accounts.ts';
import * as keys from './acts/keys.ts';
import * as lists from './acts/lists.ts';
import * as reputation from './acts/reputation.ts';
import * as service from './acts/service.ts';
import type { AnyOperation } from './operation.ts';

const groups = { ...accounts, ...keys, ...lists, ...reputation, ...service };

export const operations: ReadonlyMap<string, AnyOperation> = new Map(
  Object.values(groups).map((operation: AnyOperation) => [operation.name, operation]),
);

type Known = (typeof groups)[keyof typeof groups];
export type OperationName = Known['name'];
type Named<Name extends OperationName> = Extract<Known, { readonly name: Name }>;
export type InputOf<Name extends OperationName> = v.InferInput<Named<Name>['input']>;
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Named<Name>['run']>>;
