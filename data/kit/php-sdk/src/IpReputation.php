<?php

/** Asks about addresses and reports them. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\ConfigurationError;
use Portcullis\Http\Transport;

final class IpReputation
{
    private readonly ApiCaller $caller;

    /**
     * @param string $secureUrl the reputation service, such as https://portcullis.example
     * @param int $waitSecondsMax how long a call may wait for a quota in all; 0: not at all
     * @param (callable(int): void)|null $sleep seconds; for tests
     * @param (callable(): int)|null $now Unix time in seconds; for tests
     */
    public function __construct(
        string $secureUrl,
        #[\SensitiveParameter] string $apiKey,
        ?Transport $transport = null,
        int $waitSecondsMax = 10,
        ?callable $sleep = null,
        ?callable $now = null,
    ) {
        $this->caller = new ApiCaller($secureUrl, $apiKey, $transport, $waitSecondsMax, $sleep, $now);
    }

    /** @param int|null $maxAgeInDays 1 to 365: count the reports of so many days */
    public function check(string $ipAddress, ?int $maxAgeInDays = null): IpCheck
    {
        $answer = $this->caller->call('/api/v2/check', [
            'ipAddress' => $ipAddress,
            'maxAgeInDays' => $maxAgeInDays === null ? null : (string) $maxAgeInDays,
        ]);
        return IpCheck::fromAnswer($answer);
    }

    /**
     * Comes back when the report is on the service's disk.
     *
     * @param list<int> $categories 1 to 23, at most 30 of them
     * @param string $comment seen by everybody: no names, no passwords
     */
    public function report(
        string $ipAddress,
        array $categories,
        string $comment = '',
        ?\DateTimeInterface $at = null,
    ): IpReport {
        if ($categories === [] || array_filter($categories, 'is_int') !== $categories) {
            throw new ConfigurationError('Categories are whole numbers, and at least one is needed.');
        }
        $answer = $this->caller->call('/api/v2/report', [], [
            'ip' => $ipAddress,
            'categories' => implode(',', $categories),
            'comment' => $comment === '' ? null : $comment,
            'timestamp' => $at?->format(\DateTimeInterface::ATOM),
        ]);
        return IpReport::fromAnswer($answer);
    }

    /** Of the last answer; null before the first one. */
    public function quota(): ?Quota
    {
        return $this->caller->quota();
    }
}
