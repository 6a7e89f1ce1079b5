/** The Store contract, kept by LMDB. */

import { storeContract } from './contract.ts';
import { lmdbFactory } from './lmdb-factory.ts';

storeContract(lmdbFactory);
