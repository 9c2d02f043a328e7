import fc from 'fast-check';

import { chooseSeed } from './sweeps.ts';

/** In the fast suite, property tests use the same generated cases in every run. */
fc.configureGlobal({ seed: chooseSeed(1) });
