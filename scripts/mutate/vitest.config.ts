import { mergeConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

/** The configuration of the tests, for those that `run.ts` chose. */
const include = (process.env.MUTATE_TESTS ?? '').split(',').filter(Boolean)

export default mergeConfig({ ...config, test: {} }, { test: { include, testTimeout: 20_000 } })
