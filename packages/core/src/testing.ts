/** The contract suites of searchers, dialects and stores, for any test runner. */
export {
  type DialectCheck,
  dialectContract,
  type ProviderVoice,
  type SpokenCall,
  type SpokenTurn,
} from './dialects/dialect-contract.ts'
export { type SearcherCheck, searcherContract } from './search/searcher-contract.ts'
export { type AnnouncementsUnderTest, announcementsContract } from './store/announcements-contract.ts'
export type { StoreCheck, StoreUnderTest } from './store/contract-checks.ts'
export { storeContract } from './store/store-contract.ts'
