import { reading } from './route.ts'

const SHOWN = 50

/** The latest recorded calls, the newest first; null if calls are not recorded. */
export const audit = reading({}, async ({ auditor }) => ({
  calls: auditor ? [...(await auditor.list(SHOWN))].reverse() : null,
}))
