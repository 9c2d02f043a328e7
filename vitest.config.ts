import { defineConfig } from 'vitest/config';

const exclude = ['**/node_modules/**', '**/dist/**', '**/.data/**'];

/** Three kinds of tests, which differ in the suffix of their file names. */
export default defineConfig({
  test: {
    // Three workers even on two processors, because test files wait for servers and timers half of
    // their time.
    maxWorkers: 3,
    // Each worker keeps its process for all its files. A process per file would load the product
    // again each time.
    isolate: false,
    // A polled state may come late on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...exclude, '**/*.integration.test.ts', '**/*.e2e.test.ts'],
          // Property tests try ten thousand cases, on machines that may be busy with other work.
          testTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['**/*.integration.test.ts'],
          exclude,
          globalSetup: ['test/support/global-setup.ts'],
          // No test measures time by this limit. It is long because everything takes longer on a
          // busy machine.
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/{clients,conformance,e2e,faults,skew}/**/*.e2e.test.ts'],
          exclude,
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
