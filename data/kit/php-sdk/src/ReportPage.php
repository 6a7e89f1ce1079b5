<?php

/** A page of the reports of an address, the newest first. */

declare(strict_types=1);

namespace Portcullis;

final class ReportPage
{
    /** @param list<array{reportedAt: string, comment: string, categories: list<int>, reporterId: int, reporterCountryCode: string, reporterCountryName: string|null}> $results */
    private function __construct(
        /** Reports in all pages; those of lists are not among them. */
        public readonly int $total,
        public readonly int $page,
        public readonly int $perPage,
        public readonly int $lastPage,
        public readonly array $results,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        $data = Shape::part($answer, 'data');
        Shape::members($data, ['total' => 'int', 'page' => 'int', 'perPage' => 'int', 'lastPage' => 'int']);
        $results = Shape::rows($data, 'results', [
            'reportedAt' => 'string',
            'comment' => 'string',
            'categories' => 'array',
            'reporterId' => 'int',
            'reporterCountryCode' => 'string',
            'reporterCountryName' => 'string|null',
        ]);
        return new self($data['total'], $data['page'], $data['perPage'], $data['lastPage'], $results);
    }
}
