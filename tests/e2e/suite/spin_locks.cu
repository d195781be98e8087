// Mutual exclusion: a lock per bucket taken by atomicCAS inside a diverged warp, a ticket lock, and
// a lock whose critical section updates several words.
#include "suite.h"

struct Account {
  int lock, balance, changes;
};

__global__ void transfer(Account* accounts, int count, int each) {
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < each; k++) {
    Account& a = accounts[hash(id * 31 + k) % count];
    bool done = false;
    while (!done) {
      if (atomicCAS(&a.lock, 0, 1) == 0) {
        __threadfence();
        volatile Account& v = a;
        v.balance = v.balance + int(id % 7);
        v.changes = v.changes + 1;
        __threadfence();
        atomicExch(&a.lock, 0);
        done = true;
      }
    }
  }
}
__global__ void tickets(unsigned* next, volatile unsigned* serving, volatile int* value) {
  unsigned mine = atomicAdd(next, 1);
  while (*serving != mine) {
  }
  __threadfence();
  *value = *value * 3 + 1;
  __threadfence();
  *serving = mine + 1;
}

int main() {
  const int count = 10, each = 3, threads = 6 * 64;
  DeviceArray<Account> accounts(count);
  transfer<<<6, 64>>>(accounts, count, each);
  DeviceArray<unsigned> ticket(2);
  DeviceArray<int> value(1);
  tickets<<<4, 32>>>(ticket, ticket + 1, value);
  SYNC();
  std::vector<int> balance(count), changes(count), got_balance, got_changes;
  for (unsigned id = 0; id < threads; id++)
    for (int k = 0; k < each; k++)
      balance[hash(id * 31 + k) % count] += id % 7, changes[hash(id * 31 + k) % count]++;
  for (const Account& a : accounts.host())
    got_balance.push_back(a.balance), got_changes.push_back(a.changes);
  expect_equal(got_balance, balance, "balances");
  expect_equal(got_changes, changes, "changes");
  unsigned wanted = 0;
  for (int i = 0; i < 128; i++) wanted = wanted * 3 + 1;
  expect(unsigned(value.host()[0]) == wanted, "ticket lock");
  return verdict();
}
