/** Who may import whom. A rule that is broken needs another design, not an exception here. */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'services-never-import-services',
      comment: 'Processes talk over queues, HTTP and streams.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'libs-never-import-services',
      comment: 'libs/testing migrates databases by the gateway’s own migrator.',
      severity: 'error',
      from: { path: '^libs/', pathNot: '^libs/testing/' },
      to: { path: '^services/' },
    },
    {
      name: 'testing-imports-only-the-migrator',
      severity: 'error',
      from: { path: '^libs/testing/' },
      to: { path: '^services/', pathNot: '^services/gateway/src/database/' },
    },
    {
      name: 'errors-imports-nothing',
      severity: 'error',
      from: { path: '^libs/errors/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: '^libs/errors/' },
    },
    {
      name: 'testing-only-from-tests',
      severity: 'error',
      from: { path: '^(services|libs|infra)/', pathNot: '(\\.(spec|fixture)\\.ts$|^libs/testing/)' },
      to: { path: '^(libs/testing/|test/)' },
    },
    {
      name: 'product-never-imports-the-launcher',
      severity: 'error',
      from: { path: '^(services|libs)/' },
      to: { path: '^infra/' },
    },
    {
      name: 'launcher-imports-no-service',
      comment: 'It starts them as processes and asks them by their commands.',
      severity: 'error',
      from: { path: '^infra/' },
      to: { path: '^services/' },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^(virtual:|~icons/)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(node_modules|dist|data|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
