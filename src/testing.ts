/** The contract suites: what every searcher must do, for a test runner of your choice. */
export { type SearcherCheck, searcherContract } from './search/searcher-contract.ts'
