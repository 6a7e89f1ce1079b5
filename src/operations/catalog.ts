/** All operations by their names: each that an `operations.ts` of a capability exports stands here by itself. */

import type * as v from 'valibot';
import * as keys from '../access/keys/operations.ts';
import * as service from '../app/operations.ts';
import type { AnyOperation } from '../contracts/operation.ts';
import * as feeds from '../reputation/blocklists/named/operations.ts';
import type { MemoryReading } from '../reputation/check/operations.ts';
import * as check from '../reputation/check/operations.ts';
import * as federation from '../reputation/federation/operations.ts';
import * as peers from '../reputation/federation/subscribe/operations.ts';
import * as lists from '../reputation/lists/operations.ts';
import * as ranges from '../reputation/ranges/operations.ts';
import * as reports from '../reputation/reports/operations.ts';
import * as requests from '../reputation/requests/operations.ts';
import * as mail from '../signon/mail/operations.ts';
import * as accounts from '../signon/people/operations.ts';
import * as sites from '../signon/sites/operations.ts';
import type { Workspace } from './workspace.ts';

export type WorkspaceOperation = AnyOperation<Workspace, MemoryReading>;

const exported = {
  ...accounts,
  ...check,
  ...feeds,
  ...federation,
  ...keys,
  ...lists,
  ...mail,
  ...peers,
  ...ranges,
  ...reports,
  ...requests,
  ...service,
  ...sites,
};
type ExportedOperation = (typeof exported)[keyof typeof exported];
type KnownOperation = Extract<
  ExportedOperation,
  { readonly name: string; readonly input: v.GenericSchema }
>;

const known = Object.values(exported).filter((one) => 'parameters' in one) as KnownOperation[];
export const operations: ReadonlyMap<string, WorkspaceOperation> = new Map(
  known.map((operation: WorkspaceOperation) => [operation.name, operation]),
);

export type OperationName = KnownOperation['name'];
type NamedOperation<Name extends OperationName> = Extract<KnownOperation, { readonly name: Name }>;
export type InputOf<Name extends OperationName> = v.InferInput<NamedOperation<Name>['input']>;
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<NamedOperation<Name>['run']>>;
