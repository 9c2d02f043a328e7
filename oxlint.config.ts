import { defineConfig } from 'oxlint';

const components = 'gateway|auth|registry|policy|executor|approvals|notifier|audit|cli|dashboard';

/** A component must not import another component; it calls the other one over the bus. */
const otherComponents = {
  regex: `^(\\.\\./)+(${components})/`,
  message: 'Components talk over the bus. Import a contract from #contracts instead.',
};
/**
 * Only services-src/database may import the Postgres driver. The driver is a fork in this
 * repository; the published package is not used.
 */
const postgresDriver = {
  regex: '^postgres$|(^|/)postgres-driver(/|$)',
  message: 'Reach Postgres through #database.',
};
/**
 * A feature of the dashboard may have the same name as a component. Seen from a feature, the
 * folders of the components are four levels up.
 */
const componentsFromFeatures = {
  ...otherComponents,
  regex: `^(\\.\\./){4,}(${components})/`,
};
const forbiddenEverywhere = [otherComponents, postgresDriver];
const sqlElsewhere = {
  regex: '^pg$',
  message: 'SQL lives in <component>/<noun>/<table>.sql.ts.',
};
const anythingWithEffects = {
  regex:
    '^(#bus|#database|#events|#egress|#telemetry|#process|node:(fs|net|http|https|child_process)|.*\\.sql\\.ts$)',
  message: 'domain/ is pure: no I/O, no clock, no SQL.',
};
const drivers = {
  regex: '^(pg|fastify|@nats-io/.*)$',
  message: 'Use cases are given what they need in deps.ts.',
};
const anythingButZod = {
  regex: '^([^.z]|z[^o]|zo[^d])',
  message: 'contracts/ is a leaf: it imports zod and itself.',
};
const internals = {
  regex:
    '^#(bus|config|database|egress|errors|events|process|signing|telemetry|contracts/(all|bus|define|permit|route-errors|template))',
  message:
    'The dashboard knows only what is public: #contracts/http, #contracts/vocabulary and the tables without zod.',
};

export default defineConfig({
  ignorePatterns: [
    '**/node_modules/**',
    '**/dist/**',
    '**/.data/**',
    'services-src/database/postgres-driver/**', // a fork keeps the style of its origin
  ],
  jsPlugins: ['eslint-plugin-solid'],
  plugins: ['typescript', 'import', 'unicorn', 'promise', 'vitest'],
  options: { typeAware: true },
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'no-console': 'error',
    'no-underscore-dangle': 'off',
    'no-await-in-loop': 'off', // steps often must run in sequence; where they may run concurrently, the code says so
    'no-shadow': 'off',
    'no-unmodified-loop-condition': 'off', // a disposer changes `stopped`, which this rule does not see
    'unicorn/consistent-function-scoping': 'off',
    'import/no-named-as-default-member': 'off',
    'promise/always-return': 'off',
    'unicorn/require-module-specifiers': 'off',
    'vitest/require-mock-type-parameters': 'off',
    'typescript/consistent-return': 'off', // tsc's noImplicitReturns and exhaustive switches find the same faults
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/no-unsafe-type-assertion': 'off', // data is parsed where it enters; a comment explains each cast there
    eqeqeq: 'error',
    'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/consistent-type-specifier-style': ['error', 'prefer-top-level'],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'no-unused-vars': [
      'error',
      { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
    ],
    'typescript/no-explicit-any': 'error',
    'no-restricted-imports': ['error', { patterns: [...forbiddenEverywhere, sqlElsewhere] }],
  },
  overrides: [
    {
      files: ['**/*.sql.ts', 'provision.ts', 'services-src/embedded/postgres-client.ts'],
      rules: { 'no-restricted-imports': ['error', { patterns: forbiddenEverywhere }] },
    },
    {
      files: ['services-src/database/**'],
      rules: { 'no-restricted-imports': ['error', { patterns: [otherComponents] }] },
    },
    {
      // The gateway and auth's OAuth listener serve HTTP, so they may import its drivers and are
      // left out.
      files: ['{approvals,audit,auth,executor,notifier,policy,registry}/*/**'],
      excludeFiles: ['**/*.sql.ts', 'auth/oauth/**'],
      rules: {
        'no-restricted-imports': ['error', { patterns: [...forbiddenEverywhere, drivers] }],
      },
    },
    {
      files: ['**/domain/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [...forbiddenEverywhere, sqlElsewhere, anythingWithEffects] },
        ],
      },
    },
    {
      files: ['services-src/contracts/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'no-restricted-imports': ['error', { patterns: [...forbiddenEverywhere, anythingButZod] }],
      },
    },
    {
      // Each of these files is one table. Its length is the number of endpoints or settings and no
      // sign of complexity.
      files: ['services-src/contracts/**', 'services-src/config/settings.ts'],
      rules: { 'max-lines': 'off' },
    },
    {
      files: ['dashboard/**'],
      rules: {
        'no-restricted-imports': ['error', { patterns: [...forbiddenEverywhere, internals] }],
        'solid/reactivity': 'error',
        'solid/no-destructure': 'error',
        'import/no-unassigned-import': 'off',
        'import/no-default-export': 'off',
        'max-lines-per-function': 'off',
      },
    },
    {
      files: ['dashboard/src/features/*/*'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [componentsFromFeatures, postgresDriver, internals] },
        ],
      },
    },
    {
      files: [
        'test/**',
        '**/*.test.ts',
        '**/*.testing.ts',
        '*.config.ts',
        'dashboard/vite.config.ts',
        'deploy/{generate,catalogue}.ts',
      ],
      rules: {
        'no-restricted-imports': 'off',
        'import/no-default-export': 'off',
        'max-lines-per-function': 'off',
        'max-lines': 'off',
        'vitest/expect-expect': 'off', // some suites assert through a helper function, which this rule does not see
        'vitest/no-conditional-expect': 'off',
        'vitest/valid-expect': 'off', // the second argument of `expect` says which row of a table failed
        'vitest/require-to-throw-message': 'off',
        'typescript/no-unnecessary-type-assertion': 'off',
        'typescript/no-base-to-string': 'off',
      },
    },
    {
      files: ['scripts/**', 'test/{demo,bench,catalogue,corpus,model}/**', 'deploy/**'],
      rules: { 'no-console': 'off' },
    },
  ],
});
