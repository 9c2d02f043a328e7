import fc from 'fast-check';

import { chooseSeed } from './sweeps.ts';

/** The properties of the fast suite get the same cases in every run. */
fc.configureGlobal({ seed: chooseSeed(1) });
