import { availableParallelism } from 'node:os'
import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** The test configuration for fuzzers, which run for as long as requested, one file per core. */
export default mergeConfig(
  { ...config, test: {} },
  { test: { include: ['packages/*/src/**/*.fuzz.ts'], maxWorkers: availableParallelism() } },
)
